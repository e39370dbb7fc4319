// The distance of a GPU and a port as the number of folders that their places in sysfs share: a
// device's folder is within those of the bridges above it.
#include "kernels/mpi/path/nearest_port.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <tuple>
#include <vector>

namespace railgauge::mpi {
namespace {

namespace fs = std::filesystem;

// A folder with all links resolved; empty where there is none.
fs::path place_of(const fs::path& link) {
  std::error_code error;
  const fs::path place = fs::canonical(link, error);
  return error ? fs::path() : place;
}

std::string line_of(const fs::path& file) {
  std::string line;
  std::getline(std::ifstream(file), line);
  return line;
}

std::vector<fs::path> sorted_entries(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    found.push_back(at->path());
  std::ranges::sort(found);
  return found;
}

long shared_folders(const fs::path& one, const fs::path& other) {
  const auto end = std::mismatch(one.begin(), one.end(), other.begin(), other.end()).first;
  return std::distance(one.begin(), end);
}

}  // namespace

std::string nearest_port(const std::string& pci_address, const std::string& sysfs) {
  std::string address = pci_address;
  std::ranges::transform(address, address.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const fs::path gpu = place_of(fs::path(sysfs) / "bus/pci/devices" / address);
  const std::string gpu_numa = gpu.empty() ? "" : line_of(gpu / "numa_node");
  std::string nearest;
  std::tuple<bool, long, bool> best;
  for (const fs::path& device : sorted_entries(fs::path(sysfs) / "class/infiniband")) {
    const fs::path nic = place_of(device / "device");
    for (const fs::path& port : sorted_entries(device / "ports")) {
      // "4: ACTIVE"
      const std::tuple key(line_of(port / "state").starts_with("4"),
                           gpu.empty() || nic.empty() ? 0L : shared_folders(gpu, nic),
                           !gpu_numa.empty() && line_of(nic / "numa_node") == gpu_numa);
      if (!nearest.empty() && key <= best) continue;
      best = key;
      nearest = device.filename().string() + ":" + port.filename().string();
    }
  }
  return nearest;
}

}  // namespace railgauge::mpi
