// Facts that railgauge-node-facts, if installed, adds to an inventory that an ordinary user read.
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

// Parses the helper's lines; skips unknown ones. Pure.
NodeFacts parse_node_facts(const std::string& text);
// Fills in unknown configuration spaces and an unknown kernel log; known facts stay. Pure.
void add_node_facts(const NodeFacts& facts, Inventory& node);

// Reads from the service behind a unix socket until it closes. kNotFound: no service listens there,
// or this user may not connect. kDeadlineExceeded: no end within `seconds`. kResourceExhausted:
// more than `most` bytes. kUnavailable: other failures of connect().
Result<std::string> read_socket(const std::string& path, double seconds, std::size_t most);

inline constexpr double kNodeFactsSeconds = 2;  // for the helper's answer

// Asks the helper if a fact is unknown: its service, else the program beside this one. Without
// either, `node` stays as it is.
void ask_node_facts(Inventory& node, double seconds = kNodeFactsSeconds);
// Does the same for configuration spaces alone.
void ask_config_spaces(Inventory& node);

// The completion of an inventory that is read periodically: the stack's settings (ACS, MaxReadReq,
// relaxed ordering) are in configuration spaces, which the agent itself may not read. The helper is
// called the first time, for a new device, and every kAskNs; its last answer stays in between.
class ConfigKeeper {
 public:
  static constexpr double kAskNs = 600e9;
  using Ask = std::function<void(Inventory&)>;
  explicit ConfigKeeper(Ask ask = ask_config_spaces) : ask_(std::move(ask)) {}
  // Completes `now`; `before` is the last completed inventory. Returns whether the helper was
  // asked.
  bool complete(const Inventory& before, Inventory& now, double now_ns);

 private:
  Ask ask_;
  double due_ns_ = 0;
};

}  // namespace railgauge::agent
