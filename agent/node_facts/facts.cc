#include "agent/node_facts/facts.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
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

constexpr std::size_t kMaxRecordBytes = 8192;  // the kernel's largest record
constexpr int kMaxReads = 200'000;
constexpr std::size_t kMaxMessageBytes = 1000;

// Returns the message of "6,1234,5678,-;message"; "" for lines that begin with a blank (details).
std::string message_of(const std::string& line) {
  const std::size_t begin = line.find(';');
  if (begin == std::string::npos || line.empty() || line[0] == ' ') return "";
  return line.substr(begin + 1, kMaxMessageBytes);
}

std::string kernel_log(const std::string& path) {
  KeptLogLines kept;
  if (read_log_records(path, kept) != 0) return "";
  std::string text;
  for (const std::string& message : kept.lines()) text += "kernel_log " + message + "\n";
  return text + "kernel_log_end" + (kept.is_cut() ? " cut\n" : "\n");
}

}  // namespace

// One read returns one record of the device, or many records of a file in a test's tree.
int read_log_records(const std::string& path, KeptLogLines& kept) {
  const int log = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (log < 0) return errno;
  std::string rest;
  int error = 0;
  bool has_begun = false;
  std::array<char, kMaxRecordBytes> record{};
  for (int i = 0; i < kMaxReads; ++i) {
    const ssize_t got = ::read(log, record.data(), record.size());
    error = got < 0 ? errno : 0;
    if (error == EPIPE) kept.lose();  // overwritten: read the next record
    if (error == EPIPE || error == EINTR) {
      error = 0;
      continue;
    }
    if (got <= 0) break;
    rest.append(record.data(), static_cast<std::size_t>(got));
    for (std::size_t end = 0; (end = rest.find('\n')) != std::string::npos;
         rest.erase(0, end + 1)) {
      if (!has_begun) kept.begin(rest);
      has_begun = true;
      kept.take(message_of(rest.substr(0, end)));
    }
    if (rest.size() > kMaxRecordBytes) rest.clear();
  }
  ::close(log);
  return error == EAGAIN ? 0 : error;
}

std::string privileged_facts_list() {
  return "pci_config  CAP_SYS_ADMIN  /sys/bus/pci/devices/*/config of bridges, GPUs and NICs\n"
         "kernel_log  CAP_SYSLOG     /dev/kmsg: lines about GPUs, NICs, peer memory, PCIe errors\n";
}

std::string privileged_facts(const std::string& root) {
  std::vector<std::filesystem::path> devices;
  std::error_code error;
  const std::filesystem::path folder(root + "/sys/bus/pci/devices");
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    if (devices.size() == kMaxDevices) break;
    if (is_of_interest(it->path())) devices.push_back(it->path());
  }
  std::ranges::sort(devices);
  std::string text;
  for (const std::filesystem::path& device : devices)
    text += "pci_config " + device.filename().string() + " " + hex_of(device / "config") + "\n";
  return text + kernel_log(root + "/dev/kmsg");
}

}  // namespace railgauge::agent
