#include "agent/inventory/sources/node_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <limits>

#include <fmt/format.h>

#include "kernels/core/base/fd.h"
#include "kernels/core/text/text.h"

namespace railgauge::agent {
namespace {
namespace fs = std::filesystem;

constexpr std::size_t kChunkBytes = 16U << 10U;

// The state for an errno: absent for a missing file, unknown without privilege or while a device
// cannot answer, else an error.
template <class T>
Fact<T> not_read(const std::string& path, int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
    case ENODEV:
    case ENXIO:
    case EOPNOTSUPP:
      return Fact<T>::absent(path);
    case EACCES:
    case EPERM:
      return Fact<T>::unknown(path, fmt::format("{}: {}", path, std::strerror(error)));
    case EINVAL:  // sysfs: not now, such as the speed of an inactive link
    case EAGAIN:
    case EBUSY:
      return Fact<T>::unknown(path,
                              fmt::format("{}: not readable now: {}", path, std::strerror(error)));
    default:
      return Fact<T>::error(path, fmt::format("{}: read: {}", path, std::strerror(error)));
  }
}

// Opens regular files only: a pipe must not block the reader.
int open_file(const std::string& path, Fd& fd) {
  fd = Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd) return errno;
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return errno;
  return S_ISREG(status.st_mode) ? 0 : EISDIR;
}

// Appends to `text` until its end or `most` bytes; 0 or an errno.
int read_some(int fd, std::size_t most, std::string& text) {
  std::array<char, kChunkBytes> chunk{};
  while (text.size() < most) {
    const ssize_t got = ::read(fd, chunk.data(), std::min(chunk.size(), most - text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno;
    if (got == 0) return 0;
    text.append(chunk.data(), static_cast<std::size_t>(got));
  }
  return 0;
}

}  // namespace

// The path below the roots that tests and containers replace.
std::string NodeFiles::on_disk(const std::string& path) const {
  if (!sysfs_.empty() && path.starts_with("/sys/")) return sysfs_ + path.substr(4);
  if (!proc_.empty() && path.starts_with("/proc/")) return proc_ + path.substr(5);
  return root_ + path;
}

// Reads at most `most` bytes.
Fact<std::string> NodeFiles::bytes(const std::string& path, std::size_t most) const {
  Fd fd;
  if (const int error = open_file(on_disk(path), fd); error != 0)
    return not_read<std::string>(path, error);
  std::string text;
  if (const int error = read_some(fd.get(), most + 1, text); error != 0)
    return not_read<std::string>(path, error);
  if (text.size() > most)
    return Fact<std::string>::error(path, fmt::format("{}: longer than {} bytes", path, most));
  return Fact<std::string>::known(std::move(text), path);
}

Fact<std::string> NodeFiles::text(const std::string& path, std::size_t most) const {
  Fact<std::string> text = bytes(path, most);
  if (!text.is_known()) return text;
  if (text.value.find('\0') != std::string::npos || valid_utf8(text.value) != text.value)
    return Fact<std::string>::error(path, path + ": is no text (UTF-8)");
  return text;
}

Fact<std::string> NodeFiles::line(const std::string& path) const {
  return text(path, kMostLineBytes).as([](const std::string& whole) {
    return std::string(trimmed(std::string_view(whole).substr(0, whole.find('\n'))));
  });
}

Fact<std::uint64_t> NodeFiles::number(const std::string& path) const {
  return parsed(line(path), "number", number_in);
}

Fact<std::uint32_t> NodeFiles::small(const std::string& path) const {
  const Fact<std::uint64_t> wide = number(path);
  if (wide.value > std::numeric_limits<std::uint32_t>::max())
    return Fact<std::uint32_t>::error(path, fmt::format("{}: {} is too large", path, wide.value));
  return wide.as([](std::uint64_t value) { return static_cast<std::uint32_t>(value); });
}

Fact<std::string> NodeFiles::link(const std::string& path) const {
  std::error_code error;
  const fs::path target = fs::read_symlink(on_disk(path), error);
  if (error == std::errc::invalid_argument)
    return Fact<std::string>::error(path, path + ": is no link");
  if (error) return not_read<std::string>(path, error.value());
  return Fact<std::string>::known(valid_utf8(target.filename().string()), path);
}

NameList NodeFiles::list(const std::string& path, std::size_t most) const {
  NameList names = NameList::known({}, path);
  std::error_code error;
  const fs::path folder(on_disk(path));
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (names.value.size() == most) {
      names.state = FactState::kError;
      names.reason = fmt::format("{}: has more than {} names", path, most);
      break;
    }
    names.value.push_back(valid_utf8(it->path().filename().string()));
  }
  std::ranges::sort(names.value);
  if (!error) return names;
  NameList bad = error == std::errc::not_a_directory
                     ? NameList::error(path, path + ": is no folder")
                     : not_read<std::vector<std::string>>(path, error.value());
  bad.value = std::move(names.value);
  return bad;
}

bool NodeFiles::is_file(const std::string& path) const {
  struct stat status {};
  return ::stat(on_disk(path).c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

bool NodeFiles::exists(const std::string& path) const {
  struct stat status {};
  return ::stat(on_disk(path).c_str(), &status) == 0;
}

Fact<double> NodeFiles::modified_unix_seconds(const std::string& path) const {
  struct stat status {};
  if (::stat(on_disk(path).c_str(), &status) != 0) return not_read<double>(path, errno);
  return Fact<double>::known(static_cast<double>(status.st_mtim.tv_sec), path);
}

// Calls `each` with each line until it returns false. Lines that are too long are skipped. Known
// and true: the whole file was read.
Fact<bool> NodeFiles::lines(const std::string& path, std::size_t most,
                            const std::function<bool(std::string_view)>& each) const {
  Fd fd;
  if (const int error = open_file(on_disk(path), fd); error != 0)
    return not_read<bool>(path, error);
  std::string buffer;
  bool skip = false;  // the rest of a line that was too long
  for (std::size_t total = 0; total <= most;) {
    const std::size_t before = buffer.size();
    if (const int error = read_some(fd.get(), before + kChunkBytes, buffer); error != 0)
      return not_read<bool>(path, error);
    const bool at_end = buffer.size() == before;
    total += buffer.size() - before;
    if (at_end && !buffer.empty()) buffer += '\n';
    std::size_t begin = 0;
    for (std::size_t end = buffer.find('\n'); end != std::string::npos;
         begin = end + 1, end = buffer.find('\n', begin)) {
      const std::string_view line = std::string_view(buffer).substr(begin, end - begin);
      if (!skip && line.size() <= kMostLineBytes && !each(line))
        return Fact<bool>::known(false, path);
      skip = false;
    }
    buffer.erase(0, begin);
    if (buffer.size() > kMostLineBytes) {
      skip = true;
      buffer.clear();
    }
    if (at_end) return Fact<bool>::known(true, path);
  }
  return Fact<bool>::error(path, fmt::format("{}: longer than {} bytes", path, most));
}

// Without blanks at both ends.
std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

std::vector<std::string_view> fields_of(std::string_view line, std::size_t most) {
  constexpr std::string_view kBlanks = " \t\r\n";
  std::vector<std::string_view> fields;
  std::size_t at = line.find_first_not_of(kBlanks);
  while (at != std::string_view::npos && fields.size() < most) {
    const std::size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
    fields.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(kBlanks, end);
  }
  return fields;
}

std::vector<std::string_view> lines_in(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::optional<Halves> split_at(std::string_view line, char mark) {
  const std::size_t at = line.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  return Halves{trimmed(line.substr(0, at)), trimmed(line.substr(at + 1))};
}

std::optional<std::uint64_t> number_in(std::string_view text) {
  const bool is_hex = text.starts_with("0x");
  if (is_hex) text.remove_prefix(2);
  std::uint64_t number = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number, is_hex ? 16 : 10);
  return error == std::errc() && end == last ? std::optional(number) : std::nullopt;
}

std::optional<double> amount_in(std::string_view text, std::string_view unit) {
  double amount = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, amount);
  const bool has_unit = error == std::errc() && std::string_view(end, last).starts_with(unit);
  return has_unit ? std::optional(amount) : std::nullopt;
}

}  // namespace railgauge::agent
