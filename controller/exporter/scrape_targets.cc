#include "controller/exporter/scrape_targets.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "controller/fleet/hello_check.h"
#include "kernels/core/text/units.h"

namespace railgauge {
namespace {

constexpr int kLargestPort = 65'535;

// The host of an address as gRPC writes it, with brackets around IPv6; the node's name for any
// other word, and for one that no URL may have.
std::string host_of(const ScrapeTarget& target) {
  constexpr std::string_view kFour = "ipv4:";
  constexpr std::string_view kSix = "ipv6:%5B";
  constexpr std::string_view kSixEnd = "%5D:";
  const std::string_view peer = target.peer;
  const auto fits = [](unsigned char c) { return std::isxdigit(c) != 0 || c == '.' || c == ':'; };
  std::string_view host;
  if (peer.starts_with(kFour))
    host = peer.substr(kFour.size(), peer.rfind(':') - kFour.size());
  else if (peer.starts_with(kSix))
    host = peer.substr(kSix.size(), peer.find(kSixEnd) - kSix.size());
  if (host.empty() || !std::ranges::all_of(host, fits)) return target.node;
  return peer.starts_with(kSix) ? fmt::format("[{}]", host) : std::string(host);
}

// Absent for an agent that has no metrics, or names a port that is none.
std::optional<int> port_of(const ScrapeTarget& target) {
  if (target.metrics_port.empty()) return kUsualMetricsPort;
  const auto port = parse_integer(target.metrics_port);
  if (!port || *port < 1 || *port > kLargestPort) return std::nullopt;
  return static_cast<int>(*port);
}

}  // namespace

// Names are checked, so that no text needs a quote.
std::string scrape_targets(std::span<const ScrapeTarget> nodes) {
  std::string list = "[";
  std::size_t count = 0;
  for (const ScrapeTarget& node : nodes) {
    const auto port = port_of(node);
    if (!port || !fleet::is_node_name(node.node)) continue;
    if (count++ == kMostScrapeTargets) break;
    list += fmt::format(R"({}{{"targets":["{}:{}"],"labels":{{"job":"railgauge-agent","node":"{}",)"
                        R"("__meta_railgauge_metrics_port":"{}"}}}})",
                        count == 1 ? "\n" : ",\n", host_of(node), *port, node.node, *port);
  }
  return list + "\n]\n";
}

}  // namespace railgauge
