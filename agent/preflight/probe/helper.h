// Facts that railgauge-node-facts, if it is installed, adds to an inventory read by an ordinary
// user.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/inventory/facts/inventory.h"
#include "kernels/core/base/result.h"

namespace railgauge::agent {

using ConfigSpaces = std::map<std::string, std::vector<std::uint8_t>>;  // by PCI address

struct NodeFacts {
  ConfigSpaces spaces{};
  std::optional<std::vector<std::string>> kernel_log{};  // absent: it could not be read
  bool kernel_log_is_cut = false;
};

// Its lines; what is none is left out. Pure.
NodeFacts parse_node_facts(const std::string& text);
// Replaces what was not known of devices' configuration spaces and of the kernel's log; what was
// known stays. Pure.
void add_node_facts(const NodeFacts& facts, Inventory& node);

// Reads from the service behind a unix socket until it closes. Errors: kNotFound: nobody is there;
// kDeadlineExceeded, kResourceExhausted: it sent too slowly or more than `most` bytes;
// kUnavailable.
Result<std::string> read_socket(const std::string& path, double seconds, std::size_t most);

inline constexpr double kNodeFactsSeconds = 2;  // for the helper's answer

// Asks the helper where something is not known: its service, else the program beside this one.
// Without either nothing changes.
void ask_node_facts(Inventory& node, double seconds = kNodeFactsSeconds);
// The same of configuration spaces alone.
void ask_config_spaces(Inventory& node);

// Completes an inventory that is read again and again: the stack's settings (ACS, MaxReadReq,
// relaxed ordering) are in configuration spaces, which the agent itself may not read. The helper is
// called at first, when a device is new, and every kAskNs; in between its last answer stays.
class ConfigKeeper {
 public:
  static constexpr double kAskNs = 600e9;
  using Ask = std::function<void(Inventory&)>;
  explicit ConfigKeeper(Ask ask = ask_config_spaces) : ask_(std::move(ask)) {}
  // `before` is what was completed last. Whether the helper was asked.
  bool complete(const Inventory& before, Inventory& now, double now_ns);

 private:
  Ask ask_;
  double due_ns_ = 0;
};

}  // namespace railgauge::agent
