#include "agent/preflight/probe/helper.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <sstream>

#include <fmt/format.h>

#include "agent/node_facts/log_words.h"
#include "agent/os/subprocess.h"
#include "kernels/core/base/clock.h"
#include "kernels/core/base/fd.h"
#include "kernels/core/text/text.h"

namespace railgauge::agent {
namespace {

constexpr std::size_t kMaxFactsBytes = 16U << 20U;
constexpr std::size_t kMaxConfigBytes = 4096;
constexpr const char* kConfigSource = "railgauge-node-facts: /sys/bus/pci/devices/*/config";
constexpr const char* kLogSource = "railgauge-node-facts: /dev/kmsg";
constexpr const char* kSocket = "/run/railgauge-node-facts.sock";

bool is_open_question(const PciDevice& device) {
  return device.config.pcie.state == FactState::kUnknown ||
         device.config.acs.state == FactState::kUnknown;
}

bool has_open_question(const Inventory& node) {
  return std::ranges::any_of(node.pci,
                             [](const auto& entry) { return is_open_question(entry.second); });
}

template <class T>
void keep(const Fact<T>& before, Fact<T>& now) {
  if (now.state == FactState::kUnknown) now = before;
}

// Returns the device at the same address if it is of the same kind, else nullptr.
const PciDevice* same_device(const Inventory& before, const PciDevice& device) {
  const PciDevice* old = before.pci_device(device.address);
  const bool same = old != nullptr && old->vendor.value == device.vendor.value &&
                    old->device.value == device.device.value;
  return same ? old : nullptr;
}

std::string helper_path() {
  std::error_code error;
  return (std::filesystem::read_symlink("/proc/self/exe", error).parent_path() /
          "railgauge-node-facts")
      .string();
}

void add_config_space(std::istringstream& words, ConfigSpaces& spaces) {
  std::string address;
  std::string hex;
  words >> address >> hex;
  if (hex.size() % 2 != 0 || hex.size() > 2 * kMaxConfigBytes) return;
  std::vector<std::uint8_t> bytes;
  for (std::size_t at = 0; at < hex.size(); at += 2) {
    std::uint8_t byte = 0;
    const char* const end = hex.data() + at + 2;
    if (std::from_chars(hex.data() + at, end, byte, 16).ptr != end) break;
    bytes.push_back(byte);
  }
  if (bytes.size() * 2 == hex.size() && !bytes.empty()) spaces[address] = std::move(bytes);
}

Result<std::string> ask_helper(double seconds) {
  auto told = read_socket(kSocket, seconds, kMaxFactsBytes);
  if (told || told.error().code != Code::kNotFound) return told;
  const std::string path = helper_path();
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return told;
  auto output = RG_TRY(run_command({path}, seconds, kMaxFactsBytes));
  return std::move(output.out);
}

}  // namespace

NodeFacts parse_node_facts(const std::string& text) {
  constexpr std::string_view kLogLine = "kernel_log ";
  NodeFacts facts;
  std::vector<std::string> log;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kLogLine) && log.size() < kMostLogLines)
      log.push_back(valid_utf8(line.substr(kLogLine.size())));
    if (line == "kernel_log_end" || line == "kernel_log_end cut") {
      facts.kernel_log = log;
      facts.kernel_log_is_cut = line.ends_with("cut");
    }
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    if (kind == "pci_config") add_config_space(words, facts.spaces);
  }
  return facts;
}

void add_node_facts(const NodeFacts& facts, Inventory& node) {
  for (auto& [address, device] : node.pci) {
    const auto found = facts.spaces.find(address);
    if (found == facts.spaces.end() || !is_open_question(device)) continue;
    if (found->second.size() <= kPublicConfigBytes) continue;  // the helper lacks its capability
    device.config = parse_pci_config(found->second, kConfigSource);
  }
  if (facts.kernel_log && node.kernel_log.state == FactState::kUnknown) {
    node.kernel_log = Fact<std::vector<std::string>>::known(*facts.kernel_log, kLogSource);
    node.kernel_log_is_cut = facts.kernel_log_is_cut;
  }
}

Result<std::string> read_socket(const std::string& path, double seconds, std::size_t most) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return fail(Code::kNotFound, path + ": too long for a socket");
  std::memcpy(address.sun_path, path.data(), path.size());
  const Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket ||
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    const bool nobody = errno == ENOENT || errno == ECONNREFUSED || errno == EACCES;
    return fail(nobody ? Code::kNotFound : Code::kUnavailable,
                fmt::format("{}: connect: {}", path, std::strerror(errno)));
  }
  std::string told;
  for (const double end = monotonic_now_ns() / 1e9 + seconds;;) {
    if (!read_available(socket.get(), most + 1 - told.size(), told)) return told;
    if (told.size() > most)
      return fail(Code::kResourceExhausted, fmt::format("{}: more than {} bytes", path, most));
    const double left = end - monotonic_now_ns() / 1e9;
    pollfd wait{.fd = socket.get(), .events = POLLIN, .revents = 0};
    if (left <= 0 || ::poll(&wait, 1, static_cast<int>(left * 1000) + 1) == 0)
      return fail(Code::kDeadlineExceeded, fmt::format("{}: no end within {} s", path, seconds));
  }
}

void ask_node_facts(Inventory& node, double seconds) {
  if (node.kernel_log.state != FactState::kUnknown && !has_open_question(node)) return;
  if (const auto told = ask_helper(seconds)) add_node_facts(parse_node_facts(*told), node);
}

void ask_config_spaces(Inventory& node) {
  if (!has_open_question(node)) return;
  const auto told = ask_helper(kNodeFactsSeconds);
  if (!told) return;
  NodeFacts facts = parse_node_facts(*told);
  facts.kernel_log.reset();
  add_node_facts(facts, node);
}

bool ConfigKeeper::complete(const Inventory& before, Inventory& now, double now_ns) {
  bool is_new = false;
  for (const auto& [address, device] : now.pci)
    is_new = is_new || (is_open_question(device) && same_device(before, device) == nullptr);
  const bool asks = is_new || now_ns >= due_ns_;
  if (asks) {
    due_ns_ = now_ns + kAskNs;
    ask_(now);
  }
  for (auto& [address, device] : now.pci) {
    const PciDevice* old = same_device(before, device);
    if (old == nullptr) continue;
    keep(old->config.pcie, device.config.pcie);
    keep(old->config.acs, device.config.acs);
    keep(old->config.ats_enabled, device.config.ats_enabled);
  }
  return asks;
}

}  // namespace railgauge::agent
