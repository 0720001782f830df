// SPDX-License-Identifier: Apache-2.0
#include "plugin/meta/records.h"

#include "plugin/meta/record_fields.h"

namespace furrow {
namespace {

// --- fields, in their order on disk -----------------------------------------------------

template <typename Io>
void Fields(Io& io, typename Io::template Ref<PersistedZone> z) {
  io.Number(z.zone);
  io.Number(z.generation);
  io.Enum(z.role, ZoneRole::kNone, ZoneRole::kBulk);
  io.Enum(z.lifetime, LifetimeClass::kNotSet, LifetimeClass::kExtreme);
  io.Number(z.owner_directory);
  io.Number(z.reset_count);
  io.Bits(z.sealed);
}

template <typename Io>
void Fields(Io& io, typename Io::template Ref<Totals> t) {
  io.Number(t.host_bytes_written);
  io.Number(t.absorbed_bytes);
  io.Number(t.device_bytes_written);
  io.Number(t.padding_bytes_written);
  io.Number(t.sync_padding_bytes);
  io.Number(t.metadata_bytes_written);
  io.Number(t.gc_bytes_copied);
  io.Number(t.finish_padding_bytes);
  io.Number(t.sync_frames);
  io.Number(t.zone_resets);
}

template <typename Io>
void Fields(Io& io, typename Io::template Ref<CreateFileRecord> r) {
  io.Number(r.file);
  io.Enum(r.kind, FileKind::kBulk, FileKind::kWal);
  io.Number(r.directory);
  io.Text(r.name);
  io.Number(r.mtime_seconds);
  io.Number(r.replaced);
}

template <typename Io>
void Fields(Io& io, typename Io::template Ref<UnlinkRecord> r) {
  io.Number(r.directory);
  io.Text(r.name);
  io.Number(r.file);
}

template <typename Io>
void Fields(Io& io, typename Io::template Ref<RenameRecord> r) {
  io.Number(r.from_directory);
  io.Text(r.from_name);
  io.Number(r.to_directory);
  io.Text(r.to_name);
  io.Number(r.moved);
  io.Bits(r.moved_is_directory);
  io.Number(r.replaced);
}

template <typename Io>
void Fields(Io& io, typename Io::template Ref<LinkRecord> r) {
  io.Number(r.file);
  io.Number(r.directory);
  io.Text(r.name);
}

template <typename Io>
void Fields(Io& io, typename Io::template Ref<MakeDirectoryRecord> r) {
  io.Number(r.directory);
  io.Number(r.parent);
  io.Text(r.name);
  io.Number(r.mtime_seconds);
}

template <typename Io>
void Fields(Io& io, typename Io::template Ref<RemoveDirectoryRecord> r) {
  io.Number(r.directory);
  io.Number(r.parent);
  io.Text(r.name);
}

template <typename Io>
void Fields(Io& io, typename Io::template Ref<ExtentsRecord> r) {
  io.Number(r.file);
  io.Number(r.size);
  io.Number(r.mtime_seconds);
  io.Extents(r.added);
}

template <typename Io>
void Fields(Io& io, typename Io::template Ref<TruncateRecord> r) {
  io.Number(r.file);
  io.Number(r.size);
  io.Number(r.mtime_seconds);
  io.Number(r.incarnation);
}

template <typename Io>
void Fields(Io& io, typename Io::template Ref<ContentRecord> r) {
  io.Number(r.file);
  io.Enum(r.new_kind, FileKind::kBulk, FileKind::kWal);
  io.Number(r.mtime_seconds);
  io.Text(r.content);
}

template <typename Io>
void Fields(Io& io, typename Io::template Ref<StreamProgressRecord> r) {
  io.Number(r.file);
  io.Number(r.size);
  io.Number(r.durable_size);
  io.Number(r.mtime_seconds);
  io.Number(r.incarnation);
  io.Bits(r.closed, r.damaged);
  io.Extents(r.added);
}

template <typename Io>
void Fields(Io& io, typename Io::template Ref<LifetimeRecord> r) {
  io.Number(r.file);
  io.Enum(r.lifetime, LifetimeClass::kNotSet, LifetimeClass::kExtreme);
}

template <typename Io>
void Fields(Io& io, typename Io::template Ref<ZoneRecord> r) {
  Fields(io, r.zone);
}

template <typename Io>
void Fields(Io& io, typename Io::template Ref<TotalsRecord> r) {
  Fields(io, r.totals);
}

template <typename Io>
void Fields(Io& io, typename Io::template Ref<StageRecord> r) {
  io.Number(r.mount_epoch);
  io.Id(r.token);
  io.Text(r.path);
  io.Text(r.boot_id);
  io.Text(r.device);
}

template <typename Io>
void Fields(Io& io, typename Io::template Ref<DirectoryEntry> e) {
  io.Text(e.name);
  io.Number(e.id);
  io.Bits(e.is_directory);
}

template <typename Io>
void Fields(Io& io, typename Io::template Ref<DirectoryObject> o) {
  io.Number(o.directory);
  io.Number(o.sequence);
  io.Number(o.mtime_seconds);
  io.List(o.entries, 3, [&io](auto& entry) { Fields(io, entry); });
}

template <typename Io>
void Fields(Io& io, typename Io::template Ref<FileObject> o) {
  io.Number(o.file);
  io.Number(o.sequence);
  io.Enum(o.kind, FileKind::kBulk, FileKind::kWal);
  io.Enum(o.lifetime, LifetimeClass::kNotSet, LifetimeClass::kExtreme);
  io.Number(o.size);
  io.Number(o.durable_size);
  io.Number(o.mtime_seconds);
  io.Number(o.incarnation);
  io.Bits(o.closed, o.damaged);
  io.Number(o.creation_directory);
  io.Text(o.content);
  io.Extents(o.extents);
}

template <typename Io>
void Fields(Io& io, typename Io::template Ref<ZoneObject> o) {
  io.Number(o.sequence);
  Fields(io, o.zone);
}

template <typename Io>
void Fields(Io& io, typename Io::template Ref<GlobalObject> o) {
  io.Number(o.next_file);
  Fields(io, o.totals);
}

template <typename Io>
void Fields(Io& io, typename Io::template Ref<StageObject> o) {
  Fields(io, o.stage);
}

// --- the type byte in front --------------------------------------------------------------

template <typename Variant>
void Encode(const Variant& v, std::string* out) {
  PutFixed8(out, static_cast<uint8_t>(v.index() + 1));
  FieldWriter writer(out);
  std::visit([&writer](const auto& r) { Fields(writer, r); }, v);
}

// Makes `*v` hold alternative `index`; false when there is none.
template <typename Variant, size_t I = 0>
bool EmplaceIndex(size_t index, Variant* v) {
  if constexpr (I == std::variant_size_v<Variant>) {
    return false;
  } else {
    if (index != I) return EmplaceIndex<Variant, I + 1>(index, v);
    v->template emplace<I>();
    return true;
  }
}

template <typename Variant>
Result<Variant> Decode(Bytes in, const char* what) {
  if (in.empty()) return Status::Corruption(std::string(what) + ": empty");
  const auto type = static_cast<uint8_t>(in.front());
  Variant v;
  if (type == 0) return Status::Corruption(std::string(what) + ": type 0");
  if (!EmplaceIndex(size_t{type} - 1, &v)) {
    return Status::NotSupported(std::string(what) + ": type " + std::to_string(type) +
                                " is not known to this version; use a newer Furrow");
  }
  FieldReader reader(in.substr(1));
  std::visit([&reader](auto& r) { Fields(reader, r); }, v);
  if (!reader.Done()) {
    return Status::Corruption(std::string(what) + ": type " + std::to_string(type) + ", " + std::to_string(in.size()) +
                              " bytes: malformed");
  }
  return v;
}

}  // namespace

void EncodeRecord(const Record& record, std::string* out) { Encode(record, out); }
Result<Record> DecodeRecord(Bytes in) { return Decode<Record>(in, "journal record"); }
void EncodeObject(const CheckpointObject& object, std::string* out) { Encode(object, out); }
Result<CheckpointObject> DecodeObject(Bytes in) { return Decode<CheckpointObject>(in, "checkpoint object"); }

}  // namespace furrow
