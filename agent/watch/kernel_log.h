// The kernel's log as far as the watch reads it: faults of GPUs (XID) and of NVSwitches (SXid),
// from /dev/kmsg, or where that is closed to us from the end of a log file.
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
  bool fatal = false;     // of an SXid, by its own word
  std::size_t place = 0;  // in the line, where it begins
};
// Parses one line: "NVRM: Xid (PCI:0000:3b:00): 79, pid=...". Pure; any bytes.
std::optional<Xid> parse_xid(std::string_view line);
// The remark for a line, its own words kept short. Pure.
std::optional<Remark> remark_of(std::string_view line);

class KernelLog {
 public:
  static constexpr double kSameSeconds =
      60;  // the same fault of a GPU is reported once in this time

  // `device` is /dev/kmsg; `files` are tried in their order where it is closed.
  KernelLog(std::string device, std::vector<std::string> files);

  // Begins at the end of what is there. kPermissionDenied or kNotFound with what is needed when
  // nothing can be read; look() finds nothing then.
  Status open();
  // The lines since the last look, at most kMostLines of them.
  std::vector<Remark> look(double now_seconds);
  // The name of the source, for people.
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
  std::string rest_;                                            // a line that has no end yet
  std::map<std::pair<std::string, std::string>, double> told_;  // by subject and text's code
};

}  // namespace railgauge::agent
