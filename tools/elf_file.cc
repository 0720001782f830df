// SPDX-License-Identifier: Apache-2.0
#include "tools/elf_file.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace furrow::tools {
namespace {

#if defined(__x86_64__)
constexpr uint16_t kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t kMachine = EM_AARCH64;
#elif defined(__riscv)
constexpr uint16_t kMachine = EM_RISCV;
#else
constexpr uint16_t kMachine = EM_NONE;
#endif

// DB::Open in any of its forms: every program with RocksDB in it has one.
constexpr std::string_view kOpenSymbol = "_ZN7rocksdb2DB4OpenE";
// The name of a property, which stays when symbols are stripped. In two parts: this program is no RocksDB.
constexpr std::string_view kPropertyParts[] = {"num-files", "-at-level"};

// The bytes of a file, for as long as this lives.
class MappedFile {
 public:
  static Result<std::unique_ptr<MappedFile>> Open(const std::string& path) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return Status::FromErrno(errno, path);
    struct stat info = {};
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
      close(fd);
      return Status::IoError(path + " is not a file");
    }
    auto file = std::make_unique<MappedFile>();
    const auto size = static_cast<size_t>(info.st_size);
    void* const data = size == 0 ? nullptr : mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    const int error = errno;
    close(fd);
    if (data == MAP_FAILED) return Status::FromErrno(error, path);
    file->bytes_ = {static_cast<const char*>(data), size};
    return file;
  }
  MappedFile() = default;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile() {
    if (!bytes_.empty()) munmap(const_cast<char*>(bytes_.data()), bytes_.size());
  }
  std::string_view bytes() const { return bytes_; }

 private:
  std::string_view bytes_;
};

// A struct or table at `offset`; null where it does not lie in the file whole. Copied: files promise no alignment.
template <typename T>
std::optional<T> At(std::string_view bytes, uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

std::string_view Range(std::string_view bytes, uint64_t offset, uint64_t size) {
  if (offset > bytes.size() || bytes.size() - offset < size) return {};
  return bytes.substr(offset, size);
}

Result<std::string> Interpreter(std::string_view bytes, const Elf64_Ehdr& header, const std::string& path) {
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    const auto segment = At<Elf64_Phdr>(bytes, header.e_phoff + uint64_t{i} * sizeof(Elf64_Phdr));
    if (!segment) return Status::Corruption(path + " is cut off: a program header lies behind its end");
    if (segment->p_type != PT_INTERP) continue;
    const std::string_view name = Range(bytes, segment->p_offset, segment->p_filesz);
    return std::string(name.substr(0, name.find('\0')));
  }
  return std::string();
}

// Does a symbol table of `section` define DB::Open?
bool DefinesOpen(std::string_view bytes, const Elf64_Shdr& section, std::string_view names) {
  const std::string_view table = Range(bytes, section.sh_offset, section.sh_size);
  for (size_t at = 0; at + sizeof(Elf64_Sym) <= table.size(); at += sizeof(Elf64_Sym)) {
    const auto symbol = At<Elf64_Sym>(table, at);
    if (symbol->st_shndx == SHN_UNDEF || symbol->st_name >= names.size()) continue;
    if (names.substr(symbol->st_name).starts_with(kOpenSymbol)) return true;
  }
  return false;
}

bool HasRocksDb(std::string_view bytes, const Elf64_Ehdr& header) {
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    const auto section = At<Elf64_Shdr>(bytes, header.e_shoff + uint64_t{i} * sizeof(Elf64_Shdr));
    if (!section || (section->sh_type != SHT_SYMTAB && section->sh_type != SHT_DYNSYM)) continue;
    const auto names = At<Elf64_Shdr>(bytes, header.e_shoff + uint64_t{section->sh_link} * sizeof(Elf64_Shdr));
    if (names && DefinesOpen(bytes, *section, Range(bytes, names->sh_offset, names->sh_size))) return true;
  }
  const std::string property = std::string(kPropertyParts[0]) + std::string(kPropertyParts[1]);
  return memmem(bytes.data(), bytes.size(), property.data(), property.size()) != nullptr;
}

}  // namespace

Result<ElfFile> ReadElfFile(const std::string& path) {
  FURROW_ASSIGN_OR_RETURN(const std::unique_ptr<MappedFile> file, MappedFile::Open(path));
  const std::string_view bytes = file->bytes();
  ElfFile result;
  if (bytes.starts_with("#!")) {
    const std::string_view line = bytes.substr(2, std::min<size_t>(bytes.find('\n'), 4096) - 2);
    result.script = std::string(line);
    return result;
  }
  result.is_elf = bytes.starts_with(ELFMAG);
  if (!result.is_elf) return result;
  const auto header = At<Elf64_Ehdr>(bytes, 0);
  if (!header) return Status::Corruption(path + " is cut off: it has no ELF header");
  result.native = header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_machine == kMachine;
  if (!result.native) return result;
  FURROW_ASSIGN_OR_RETURN(result.interpreter, Interpreter(bytes, *header, path));
  result.has_rocksdb = HasRocksDb(bytes, *header);
  return result;
}

}  // namespace furrow::tools
