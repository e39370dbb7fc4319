#include "kernels/net/device/port_rate.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>

namespace railgauge::net {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error);
}

// The fastest interface of a device, in bytes per second; 0 where none says.
double netdev_rate(const fs::path& device) {
  double fastest = 0;
  std::error_code error;
  for (fs::directory_iterator at(device / "device/net", error), end; !error && at != end;
       at.increment(error)) {
    double megabits = 0;
    std::ifstream(at->path() / "speed") >> megabits;
    fastest = std::max(fastest, megabits * 1e6 / 8);
  }
  return fastest;
}

// Another device's rate adds to this one's, or this one is a part of it.
bool shares_its_rate(const fs::path& device) {
  if (device.filename().string().find("bond") != std::string::npos) return true;
  if (is_there(device / "device/physfn")) return true;
  std::error_code error;
  for (fs::directory_iterator at(device / "device/net", error), end; !error && at != end;
       at.increment(error))
    if (is_there(at->path() / "master/bonding")) return true;
  return false;
}

}  // namespace

// The file begins with gigabits: "200 Gb/sec (4X HDR)". Kernels write SDR, and QDR for Ethernet,
// where they do not know the speed. A container does not see interfaces of its host.
double port_rate(const fs::path& device, const fs::path& port) {
  std::error_code error;
  if (!is_there(device / "device") || shares_its_rate(device)) return 0;
  if (fs::read_symlink(device / "device/driver", error).filename() == "efa") return 0;
  std::string layer;
  std::ifstream(port / "link_layer") >> layer;
  std::string words;
  std::getline(std::ifstream(port / "rate"), words);
  const bool is_ethernet = layer == "Ethernet";
  const double interface = is_ethernet ? netdev_rate(device) : 0;
  const bool is_unknown = words.find("SDR") != std::string::npos ||
                          (is_ethernet && words.find("QDR") != std::string::npos);
  if (is_ethernet && (fs::is_empty(device / "device/net", error) || error)) return 0;
  if (is_unknown) return interface;
  return std::max(interface, std::strtod(words.c_str(), nullptr) * 1e9 / 8);
}

}  // namespace railgauge::net
