// SPDX-License-Identifier: Apache-2.0
#include "util/rng.h"

#include <random>

namespace furrow {

RandomBits SystemRandom() {
  std::random_device device;
  const auto word = [&device] { return (static_cast<uint64_t>(device()) << 32) | device(); };
  const uint64_t high = word();
  return {high, word()};
}

}  // namespace furrow
