// Makes points from the results of several links in one interval: for each link and for all.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "kernels/core/base/result.h"
#include "kernels/core/kernel.h"
#include "kernels/host_cost/host_cost.h"
#include "kernels/verbs/link/link.h"
#include "kernels/verbs/proof/link_proof.h"
#include "kernels/verbs/stream/bandwidth_points.h"
#include "kernels/verbs/transport/peer.pb.h"

namespace railgauge::verbs {

// One link, as rank 0 reports it.
struct RailFigure {
  const Link* link = nullptr;
  // Messages of each rank by slot; empty for a rank that posts none.
  std::array<std::vector<std::uint32_t>, 2> counts;
  // CPU and port counters of each rank.
  std::array<Account, 2> accounts;
  Proved proved;
  // Facts of this link only.
  std::map<std::string, std::string> facts;
};
// Facts of the size that all links share.
struct RailsForm {
  SlotForm slots;
  bool both = false;
  // Relative half width at which a point counts as converged.
  double precision = 0.01;
  bool verified = false;
  // That drive each pair of ports; with several the links have no points of their own.
  std::size_t threads = 1;
  // Uncertainty of the common begin; only in direction both.
  double uncertainty_ns = 0;
  // Each rank's, of all links together; empty where nobody wants them.
  std::vector<HostCostWords> host_costs{};
};
// Reports bandwidth and message rate of each link, named by the rails of its pair (device names are
// facts), and of all links together, with the fact `links`. kDataLoss when a link, or all links of
// one port, exceed the line rate.
Status report_rails(const Context& context, std::span<const RailFigure> figures,
                    const RailsForm& form);

// The bytes of one link through a port in one direction.
struct PortLoad {
  std::uint32_t port_of = 0;  // the rank whose port it is
  std::uint32_t from = 0;     // the rank that posts
  std::string endpoint;
  // Line rate of the port; 0: no bound.
  double rate_bits_per_second = 0;
  double bytes_per_second = 0;
};
// Returns the number of ports compared with their line rate. kDataLoss when a port's links together
// exceed its line rate in one direction. Pure.
Result<std::size_t> check_port_loads(std::span<const PortLoad> loads);

}  // namespace railgauge::verbs
