// The list of agents that Prometheus reads from the controller (http_sd), so that nobody keeps one.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace railgauge {

// A node whose agent may have metrics.
struct ScrapeTarget {
  std::string node{};
  std::string peer{};          // its stream's address: "ipv4:192.0.2.1:7", or another word
  std::string metrics_port{};  // api::kMetricsPortFact; "": its agent does not say
};

// The bound of the list; nodes beyond it are left out.
inline constexpr std::size_t kMostScrapeTargets = 20'000;
// The port of agents that do not say theirs.
inline constexpr int kUsualMetricsPort = 7471;

// Returns the targets as Prometheus' http_sd reads them. A host is the one that the agent's stream
// comes from, never one that the agent names: a hostile agent cannot send Prometheus elsewhere. The
// name of the node is the host of a stream over the unix socket. Agents without metrics, and names
// that are none, are left out. Pure.
std::string scrape_targets(std::span<const ScrapeTarget> nodes);

}  // namespace railgauge
