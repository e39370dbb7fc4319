#include "agent/node_facts/facts.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <vector>

namespace railgauge::agent {
namespace {

constexpr std::size_t kMaxDevices = 1024;
constexpr std::size_t kMaxConfigBytes = 4096;

std::string first_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

bool is_of_interest(const std::filesystem::path& device) {
  const std::string kind = first_line(device / "class");
  return kind.starts_with("0x0604") || kind.starts_with("0x02") || kind.starts_with("0x03") ||
         first_line(device / "vendor") == "0x15b3";
}

std::string hex_of(const std::filesystem::path& path) {
  constexpr std::array<char, 17> kDigits{"0123456789abcdef"};
  std::ifstream file(path, std::ios::binary);
  std::array<char, kMaxConfigBytes> bytes{};
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  std::string hex;
  for (std::size_t i = 0; i < static_cast<std::size_t>(file.gcount()); ++i) {
    const auto byte = static_cast<unsigned char>(bytes.at(i));
    hex += kDigits.at(byte >> 4U);
    hex += kDigits.at(byte & 0xfU);
  }
  return hex;
}

}  // namespace

std::string privileged_facts_list() {
  return "pci_config  CAP_SYS_ADMIN  /sys/bus/pci/devices/*/config of bridges, GPUs and NICs\n";
}

std::string privileged_facts(const std::string& root) {
  std::vector<std::filesystem::path> devices;
  std::error_code error;
  const std::filesystem::path folder(root + "/sys/bus/pci/devices");
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    if (devices.size() == kMaxDevices) break;
    devices.push_back(it->path());
  }
  std::ranges::sort(devices);
  std::string text;
  for (const std::filesystem::path& device : devices)
    if (is_of_interest(device))
      text += "pci_config " + device.filename().string() + " " + hex_of(device / "config") + "\n";
  return text;
}

}  // namespace railgauge::agent
