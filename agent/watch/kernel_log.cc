#include "agent/watch/kernel_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include <fmt/format.h>

#include "agent/inventory/facts/files.h"
#include "agent/watch/rules.h"
#include "kernels/core/base/severity.h"
#include "kernels/core/text/text.h"

namespace railgauge::agent {
namespace {
constexpr std::size_t kMostRecordBytes = 8192;
constexpr std::size_t kMostLineBytes = 2048;
constexpr std::size_t kMostFileBytes = 1U << 20U;  // of one look
constexpr std::size_t kShownBytes = 200;
constexpr std::size_t kMostTold = 1024;

// "0000:3b:00" or "0000:3b:00.0" to an address of a function.
std::optional<std::string> address_of(std::string_view text) {
  const bool fits = std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || c == ':' ||
           c == '.';
  });
  if (!fits || text.size() < 10 || text.size() > 20) return std::nullopt;
  std::string address = lower(std::string(text));
  if (address.find('.') == std::string::npos) address += ".0";
  return address;
}

std::string shown(std::string_view text) {
  std::string line = valid_utf8(text.substr(0, std::min(text.size(), kShownBytes)));
  std::erase_if(line, [](unsigned char c) { return c < ' ' || c == 0x7f; });
  return line;
}
}  // namespace

// Searches the line for "Xid (PCI:" and "SXid (PCI:". Pure.
std::optional<Xid> parse_xid(std::string_view line) {
  for (const std::string_view word :
       {std::string_view("SXid (PCI:"), std::string_view("Xid (PCI:")}) {
    const std::size_t at = line.find(word);
    if (at == std::string_view::npos) continue;
    std::string_view rest = line.substr(at + word.size());
    const std::size_t close = rest.find(')');
    if (close == std::string_view::npos) return std::nullopt;
    const auto address = address_of(rest.substr(0, close));
    rest.remove_prefix(close + 1);
    rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of(": ")));
    Xid xid;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), xid.code);
    if (error != std::errc() || !address) return std::nullopt;
    xid.pci_address = *address;
    xid.of_switch = word.front() == 'S';
    xid.place = at;
    xid.fatal = rest.find(", Fatal") != std::string_view::npos;
    return xid;
  }
  return std::nullopt;
}

// The event of a line that the watch reports; absent for other lines. Pure.
std::optional<Remark> remark_of(std::string_view line) {
  const auto xid = parse_xid(line);
  if (!xid) return std::nullopt;
  const std::string words = shown(line.substr(xid->place));
  if (xid->of_switch)
    return Remark{"sxid", xid->fatal ? severity::kCritical : severity::kWarning, xid->pci_address,
                  fmt::format("{}: NVSwitch fault {}: {}", xid->pci_address, xid->code, words)};
  return Remark{"xid", xid_severity(xid->code), xid->pci_address,
                fmt::format("{}: GPU fault XID {}: {}", xid->pci_address, xid->code, words)};
}

KernelLog::KernelLog(std::string device, std::vector<std::string> files)
    : device_(std::move(device)), files_(std::move(files)) {}

// Opens the device, or else a log file, at its end: old lines are not reported. kPermissionDenied:
// neither is readable.
Status KernelLog::open() {
  log_.reset(::open(device_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  std::array<char, 1> probe{};
  // Some containers allow open() and refuse read().
  const bool readable =
      log_ && (::lseek(log_.get(), 0, SEEK_END) >= 0) &&
      (::read(log_.get(), probe.data(), 0) >= 0 || errno == EAGAIN || errno == EINVAL);
  const std::string device_error = std::strerror(errno);
  is_device_ = readable;
  source_ = readable ? device_ : "";
  if (readable) return {};
  for (const std::string& file : files_) {
    log_.reset(::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    struct stat status {};
    if (!log_ || ::fstat(log_.get(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    inode_ = status.st_ino;
    offset_ = status.st_size;
    source_ = file;
    return {};
  }
  log_.reset();
  return fail(
      Code::kPermissionDenied,
      fmt::format("{}: open: {}; XIDs are not watched; give the agent CAP_SYSLOG, or let it "
                  "read a kernel log file (group adm)",
                  device_, device_error));
}

// Each read is one record: "PRIORITY,SEQUENCE,TIME,FLAGS;text" and a line end.
void KernelLog::read_records(std::vector<std::string>& lines) {
  std::array<char, kMostRecordBytes> record{};
  for (int i = 0; i < kMostLines; ++i) {
    const ssize_t n = ::read(log_.get(), record.data(), record.size());
    if (n < 0 && (errno == EPIPE || errno == EINTR)) continue;  // overwritten before this read
    if (n <= 0) return;
    const std::string_view text(record.data(), static_cast<std::size_t>(n));
    const std::size_t begin = text.find(';');
    lines.emplace_back(begin == std::string_view::npos ? text : text.substr(begin + 1));
  }
}

// Reads a file that shrank or was rotated from its beginning.
void KernelLog::read_file(std::vector<std::string>& lines) {
  struct stat status {};
  if (::stat(source_.c_str(), &status) != 0) return;
  if (status.st_ino != inode_) {
    Fd fresh(::open(source_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (!fresh) return;
    log_ = std::move(fresh);
    inode_ = status.st_ino;
    offset_ = 0;
    rest_.clear();
  }
  if (status.st_size < offset_) {
    offset_ = 0;
    rest_.clear();
  }
  std::array<char, 4096> chunk{};
  for (std::size_t got = 0; got < kMostFileBytes;) {
    const ssize_t n = ::pread(log_.get(), chunk.data(), chunk.size(), offset_);
    if (n <= 0) break;
    offset_ += n;
    got += static_cast<std::size_t>(n);
    rest_.append(chunk.data(), static_cast<std::size_t>(n));
    for (std::size_t end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n')) {
      lines.push_back(rest_.substr(0, end));
      rest_.erase(0, end + 1);
    }
    if (rest_.size() > kMostLineBytes) rest_.clear();
  }
}

std::vector<Remark> KernelLog::look(double now_seconds) {
  std::vector<std::string> lines;
  if (log_ && is_device_) read_records(lines);
  if (log_ && !is_device_) read_file(lines);
  std::vector<Remark> remarks;
  std::erase_if(told_, [&](const auto& one) { return now_seconds - one.second > kSameSeconds; });
  for (const std::string& line : lines) {
    auto remark = remark_of(line);
    if (!remark || told_.size() >= kMostTold) continue;
    const unsigned code = parse_xid(line)->code;
    if (!told_.emplace(std::pair(remark->subject, std::to_string(code)), now_seconds).second)
      continue;
    remarks.push_back(std::move(*remark));
  }
  return remarks;
}

}  // namespace railgauge::agent
