// SPDX-License-Identifier: Apache-2.0
//
// Rng: seeded pseudo-random numbers (splitmix64, Steele et al. 2014), the same on every
// machine. One thread at a time.
#pragma once

#include <cstdint>

namespace furrow {

class Rng {
 public:
  explicit Rng(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  // 0 <= result < n; n > 0.
  uint64_t Uniform(uint64_t n) { return Next() % n; }
  // True once in n.
  bool OneIn(uint64_t n) { return Uniform(n) == 0; }

 private:
  uint64_t state_;
};

// 128 random bits from the operating system (uuids, tokens); never a seeded source.
struct RandomBits {
  uint64_t high;
  uint64_t low;
};
RandomBits SystemRandom();

}  // namespace furrow
