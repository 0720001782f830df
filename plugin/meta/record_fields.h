// SPDX-License-Identifier: Apache-2.0
//
// FieldWriter and FieldReader: the two directions of one list of fields. records.cc names the fields
// of each record once, in the order they have on disk, for both. Private to records.cc. Not synchronised.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "plugin/meta/extent_coding.h"
#include "plugin/meta/records.h"
#include "util/coding.h"

namespace furrow {

class FieldWriter {
 public:
  template <typename T>
  using Ref = const T&;

  explicit FieldWriter(std::string* out) : out_(out) {}

  void Number(uint64_t v) { PutVarint(out_, v); }
  template <typename Tag, typename Rep>
  void Number(StrongInt<Tag, Rep> v) {
    PutVarint(out_, v.value());
  }
  template <typename... Flags>
  void Bits(Flags... flags) {
    uint8_t bits = 0;
    int i = 0;
    ((bits = static_cast<uint8_t>(bits | (flags ? 1 << i : 0)), ++i), ...);
    PutFixed8(out_, bits);
  }
  template <typename E>
  void Enum(E v, E, E) {
    PutFixed8(out_, static_cast<uint8_t>(v));
  }
  void Text(const std::string& v) { PutString(out_, v); }
  void Id(const Uuid& v) { out_->append(reinterpret_cast<const char*>(v.data()), v.size()); }
  void Extents(const std::vector<Extent>& v) { PutExtents(out_, v); }
  template <typename T, typename F>
  void List(const std::vector<T>& items, size_t, F each) {
    PutVarint(out_, items.size());
    for (const T& item : items) each(item);
  }

 private:
  std::string* const out_;
};

class FieldReader {
 public:
  template <typename T>
  using Ref = T&;

  explicit FieldReader(Bytes in) : in_(in) {}

  void Number(uint64_t& v) { v = in_.Varint(); }
  void Number(uint32_t& v) { v = in_.Varint32(); }
  template <typename Tag>
  void Number(StrongInt<Tag, uint64_t>& v) {
    v = StrongInt<Tag, uint64_t>(in_.Varint());
  }
  template <typename Tag>
  void Number(StrongInt<Tag, uint32_t>& v) {
    v = StrongInt<Tag, uint32_t>(in_.Varint32());
  }
  template <typename... Flags>
  void Bits(Flags&... flags) {
    const uint8_t bits = in_.Fixed8();
    int i = 0;
    ((flags = (bits >> i & 1) != 0, ++i), ...);
    if (bits >> i != 0) malformed_ = true;
  }
  template <typename E>
  void Enum(E& v, E least, E most) {
    v = static_cast<E>(in_.Fixed8());
    if (v < least || v > most) malformed_ = true;
  }
  void Text(std::string& v) { v = in_.String(); }
  void Id(Uuid& v) {
    for (uint8_t& byte : v) byte = in_.Fixed8();
  }
  void Extents(std::vector<Extent>& v) {
    if (!GetExtents(&in_, &v)) malformed_ = true;
  }
  // `min_bytes`: the least an item takes, so that a damaged count cannot exhaust the memory.
  template <typename T, typename F>
  void List(std::vector<T>& items, size_t min_bytes, F each) {
    const uint64_t count = in_.Varint();
    if (in_.failed() || count > in_.remaining() / min_bytes) {
      malformed_ = true;
      return;
    }
    items.reserve(count);
    for (uint64_t i = 0; i < count && ok(); ++i) each(items.emplace_back());
  }

  bool ok() const { return !malformed_ && !in_.failed(); }
  // Everything was there, and nothing is left over.
  bool Done() const { return ok() && in_.Done(); }

 private:
  Decoder in_;
  bool malformed_ = false;
};

}  // namespace furrow
