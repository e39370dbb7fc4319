// Lines of the kernel's log about what we measure. /dev/kmsg is read without waiting; without the
// right to read it (kernel.dmesg_restrict) the fact names the remedy.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "agent/inventory/sources/sources.h"
#include "agent/node_facts/log_words.h"
#include "kernels/core/base/fd.h"
#include "kernels/core/text/text.h"

namespace railgauge::agent {
namespace {

constexpr const char* kLog = "/dev/kmsg";
constexpr std::size_t kMostRecordBytes = 8192;
constexpr std::size_t kMostRecords = 200'000;
constexpr std::size_t kMostLogBytes = 64U << 20U;

// A record is "6,1234,5678,-;message\n continuation\n".
std::string_view message_of(std::string_view record) {
  const std::size_t begin = record.find(';');
  if (begin == std::string_view::npos) return {};
  record.remove_prefix(begin + 1);
  return record.substr(0, record.find('\n'));
}

using Log = Fact<std::vector<std::string>>;

// The kept lines in their order.
std::vector<std::string> lines_of(const KeptLogLines& kept) {
  std::vector<std::string> lines;
  for (const std::string& line : kept.lines()) lines.push_back(valid_utf8(line));
  return lines;
}

Log read_device(const std::string& path, KeptLogLines& kept) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!fd && errno == ENOENT) return Log::absent(kLog);
  if (!fd)
    return Log::unknown(kLog, fmt::format("{}: {}; needs CAP_SYSLOG or kernel.dmesg_restrict=0",
                                          kLog, std::strerror(errno)));
  std::array<char, kMostRecordBytes> record{};
  for (std::size_t i = 0; i < kMostRecords; ++i) {
    const ssize_t got = ::read(fd.get(), record.data(), record.size());
    if (got < 0 && errno == EPIPE) kept.lose();  // written over: the next one
    if (got < 0 && (errno == EPIPE || errno == EINTR)) continue;
    if (got < 0 && errno != EAGAIN)
      return Log::unknown(kLog, fmt::format("{}: {}; needs CAP_SYSLOG or kernel.dmesg_restrict=0",
                                            kLog, std::strerror(errno)));
    if (got <= 0) break;
    const std::string_view text(record.data(), static_cast<std::size_t>(got));
    if (i == 0) kept.begin(text);
    kept.take(std::string(message_of(text)));
  }
  return Log::known(lines_of(kept), kLog);
}

}  // namespace

Apply read_kernel_log(const NodeFiles& files) {
  Log log;
  KeptLogLines kept;
  if (files.is_this_machine()) {
    log = read_device(files.on_disk(kLog), kept);
  } else if (files.on_disk(kLog) == kLog) {
    log = Log::unknown(kLog, "this machine's log is not that of another tree of /sys");
  } else {  // a tree has plain lines
    log = files
              .lines(kLog, kMostLogBytes,
                     [&](std::string_view line) {
                       kept.take(std::string(line));
                       return true;
                     })
              .without_value<std::vector<std::string>>();
    log.value = lines_of(kept);
  }
  return [log, is_cut = kept.is_cut()](Inventory& inventory) {
    inventory.kernel_log = log;
    inventory.kernel_log_is_cut = is_cut;
  };
}

}  // namespace railgauge::agent
