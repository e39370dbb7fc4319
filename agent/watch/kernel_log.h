// GPU faults (XID) and NVSwitch faults (SXid) in the kernel's log, read from /dev/kmsg, or from the
// end of a log file if the agent may not read /dev/kmsg.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/watch/tracker.h"
#include "kernels/core/base/fd.h"
#include "kernels/core/base/result.h"

namespace railgauge::agent {

struct Xid {
  std::string pci_address;
  unsigned code = 0;
  bool of_switch = false;
  bool fatal = false;     // an SXid that calls itself fatal
  std::size_t place = 0;  // offset in the line
};
// Parses a line "NVRM: Xid (PCI:0000:3b:00): 79, pid=..."; absent for other lines. Pure; accepts
// any bytes.
std::optional<Xid> parse_xid(std::string_view line);
// Returns the remark for a fault's line, with the line's text shortened; absent for other lines.
// Pure.
std::optional<Remark> remark_of(std::string_view line);

class KernelLog {
 public:
  static constexpr double kSameSeconds =
      60;  // the same fault of a GPU is reported once in this time

  // `device` is /dev/kmsg; `files` are tried in order if it cannot be read.
  KernelLog(std::string device, std::vector<std::string> files);

  // Opens the source at its end: older lines are not reported. kPermissionDenied, with the remedy:
  // no source can be read; look() then returns nothing.
  Status open();
  // Returns remarks for the lines since the last look, at most kMostLines of /dev/kmsg.
  std::vector<Remark> look(double now_seconds);
  // Returns the path that is read; "" for none.
  [[nodiscard]] const std::string& source() const { return source_; }

 private:
  static constexpr int kMostLines = 4096;
  void read_records(std::vector<std::string>& lines);
  void read_file(std::vector<std::string>& lines);

  std::string device_;
  std::vector<std::string> files_;
  std::string source_;
  Fd log_;
  bool is_device_ = false;
  ino_t inode_ = 0;
  off_t offset_ = 0;
  std::string rest_;                                            // an incomplete last line
  std::map<std::pair<std::string, std::string>, double> told_;  // last remark, by device and code
};

}  // namespace railgauge::agent
