#include "base/function_name.hpp"

#include "base/demangled.hpp"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace corewise::detail {

namespace {

/// A file of the process, and where an address is in it.
struct place_in_file {
  std::string file;
  std::uintptr_t offset; // from where the file is loaded
};

/// Returns the place of an address in the code of the process.
std::optional<place_in_file> place_of(const void* code) {
  struct search {
    std::uintptr_t address;
    bool first = true; // the program itself is told of first
    std::optional<place_in_file> found;
  } wanted{reinterpret_cast<std::uintptr_t>(code), true, {}};
  ::dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* data) {
        auto& s = *static_cast<search*>(data);
        const bool program = std::exchange(s.first, false);
        for (const ElfW(Phdr) & part : std::span(object->dlpi_phdr, object->dlpi_phnum)) {
          const std::uintptr_t begin = object->dlpi_addr + part.p_vaddr;
          if (part.p_type != PT_LOAD || s.address < begin || s.address - begin >= part.p_memsz) continue;
          s.found = {program ? "/proc/self/exe" : object->dlpi_name, s.address - object->dlpi_addr};
          return 1;
        }
        return 0;
      },
      &wanted);
  return std::move(wanted.found);
}

/// The bytes of a file.
class mapped_file {
 public:
  explicit mapped_file(const char* path) noexcept {
    const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    struct ::stat about{};
    if (::fstat(fd, &about) == 0 && about.st_size > 0) {
      const auto size = static_cast<std::size_t>(about.st_size);
      void* const at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
      if (at != MAP_FAILED) bytes_ = {static_cast<const std::byte*>(at), size};
    }
    ::close(fd);
  }
  mapped_file(const mapped_file&) = delete;
  mapped_file& operator=(const mapped_file&) = delete;
  ~mapped_file() {
    if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }

  /// Returns `count` objects from a position on, or none if the file is not that long.
  template <class T> std::span<const T> at(std::uint64_t position, std::uint64_t count) const noexcept {
    if (position > bytes_.size() || count > (bytes_.size() - position) / sizeof(T)) return {};
    if (position % alignof(T) != 0) return {};
    return {reinterpret_cast<const T*>(bytes_.data() + position), count};
  }

 private:
  std::span<const std::byte> bytes_;
};

/// Returns the text that begins at `from`, or nothing if it does not end in the table.
std::string_view text_in(std::span<const char> table, std::uint64_t from) noexcept {
  if (from >= table.size()) return {};
  const char* const begin = table.data() + from;
  const void* const end = std::memchr(begin, 0, table.size() - from);
  return end != nullptr ? std::string_view(begin, static_cast<const char*>(end)) : std::string_view{};
}

/// Returns the function at that place by the symbols of the file, which has local ones unless it is stripped.
std::string symbol_at(const place_in_file& place) {
  const mapped_file file(place.file.c_str());
  const auto header = file.at<ElfW(Ehdr)>(0, 1);
  if (header.empty() || std::memcmp(header[0].e_ident, ELFMAG, SELFMAG) != 0) return {};
  const auto sections = file.at<ElfW(Shdr)>(header[0].e_shoff, header[0].e_shnum);
  for (const ElfW(Shdr) & s : sections) {
    if (s.sh_type != SHT_SYMTAB || s.sh_link >= sections.size()) continue;
    const ElfW(Shdr)& of_names = sections[s.sh_link];
    const auto names = file.at<char>(of_names.sh_offset, of_names.sh_size);
    for (const ElfW(Sym) & f : file.at<ElfW(Sym)>(s.sh_offset, s.sh_size / sizeof(ElfW(Sym))))
      if ((f.st_info & 15U) == STT_FUNC && place.offset >= f.st_value &&
          place.offset - f.st_value < f.st_size)
        return std::string(text_in(names, f.st_name));
  }
  return {};
}

} // namespace

std::string function_name(const void* code) {
  const std::optional<place_in_file> place = place_of(code);
  if (!place) return {};
  if (std::string symbol = symbol_at(*place); !symbol.empty()) return symbol;
  const std::string_view file = place->file == "/proc/self/exe"
                                    ? std::string_view(program_invocation_short_name)
                                    : std::string_view(place->file);
  return fmt::format("{}+{:#x}", file.substr(file.rfind('/') + 1), place->offset);
}

/// Copies while the loader's lock keeps the file there.
std::string constant_text(const char* text, std::size_t most) {
  struct search {
    const char* text;
    std::string copy;
  } wanted{text, std::string(most, '\0')};
  ::dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* data) {
        auto& s = *static_cast<search*>(data);
        for (const ElfW(Phdr) & part : std::span(object->dlpi_phdr, object->dlpi_phnum)) {
          const std::uintptr_t begin = object->dlpi_addr + part.p_vaddr;
          const auto at = reinterpret_cast<std::uintptr_t>(s.text);
          if (part.p_type != PT_LOAD || at < begin || at - begin >= part.p_filesz) continue;
          const auto left = static_cast<std::size_t>(part.p_filesz - (at - begin));
          std::memcpy(s.copy.data(), s.text, ::strnlen(s.text, std::min(left, s.copy.size())));
          return 1;
        }
        return 0;
      },
      &wanted);
  wanted.copy.resize(::strnlen(wanted.copy.data(), most));
  return std::move(wanted.copy);
}

/// Clang calls it `F.resume`, where F is the mangled function. GCC's takes the frame, whose type it calls
/// `F.Frame`.
std::string coroutine_name(const void* resume) {
  std::string name = function_name(resume);
  if (const std::size_t end = name.find(".Frame"); end != std::string::npos) {
    // The type is named with its length before it.
    for (std::size_t at = name.find("_Z", 1); at < end; at = name.find("_Z", at + 1))
      if (std::string_view(name).substr(0, at).ends_with(std::to_string(end + 6 - at)))
        return kind_text(name.substr(at, end - at).c_str());
  }
  if (name.ends_with(".resume")) name.resize(name.size() - 7);
  return kind_text(name.c_str());
}

} // namespace corewise::detail
