#include "kernels/net/device/port_rate.h"

#include <fstream>

namespace railgauge::net {
namespace {

namespace fs = std::filesystem;

bool is_bond_member(const fs::path& device) {
  std::error_code error;
  for (fs::directory_iterator at(device / "device/net", error), end; !error && at != end;
       at.increment(error))
    if (fs::exists(at->path() / "master/bonding", error)) return true;
  return false;
}

}  // namespace

// The file begins with gigabits: "200 Gb/sec (4X HDR)".
double port_rate(const fs::path& device, const fs::path& port) {
  std::error_code error;
  if (!fs::exists(device / "device", error) || is_bond_member(device)) return 0;
  if (fs::read_symlink(device / "device/driver", error).filename() == "efa") return 0;
  double gigabits = 0;
  std::ifstream(port / "rate") >> gigabits;
  return gigabits * 1e9 / 8;
}

}  // namespace railgauge::net
