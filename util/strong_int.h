// SPDX-License-Identifier: Apache-2.0
//
// StrongInt: an integer that cannot be mixed up with another kind of integer.
// Value type; any thread.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace furrow {

template <typename Tag, typename Rep>
class StrongInt {
 public:
  using rep = Rep;
  constexpr StrongInt() = default;
  constexpr explicit StrongInt(Rep v) : v_(v) {}
  constexpr Rep value() const { return v_; }
  constexpr auto operator<=>(const StrongInt&) const = default;

  // Offset + bytes -> offset; offset - offset -> bytes.
  constexpr StrongInt operator+(Rep n) const { return StrongInt(v_ + n); }
  constexpr StrongInt operator-(Rep n) const { return StrongInt(v_ - n); }
  constexpr Rep operator-(StrongInt o) const { return v_ - o.v_; }
  constexpr StrongInt& operator+=(Rep n) {
    v_ += n;
    return *this;
  }
  constexpr StrongInt& operator++() {
    ++v_;
    return *this;
  }

 private:
  Rep v_ = 0;
};

template <typename Tag, typename Rep>
struct StrongIntHash {
  size_t operator()(const StrongInt<Tag, Rep>& x) const { return std::hash<Rep>()(x.value()); }
};

}  // namespace furrow

template <typename Tag, typename Rep>
struct std::hash<furrow::StrongInt<Tag, Rep>> : furrow::StrongIntHash<Tag, Rep> {};
