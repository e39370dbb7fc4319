// Enrols all nodes of a modelled fabric with one controller, each with a key of its own, as as many
// agents would. It measures the controller, for which these are as many hosts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/enrol/enrol_client.h"
#include "controller/trust/enrolment_token.h"
#include "kernels/core/base/result.h"

namespace railgauge::fleet {

// All nodes use one token.
struct FleetEnrolment {
  agent::EnrolServer server{};
  trust::EnrolmentToken token{};
  std::vector<std::string> names{};
  std::string folder{};  // gets ca.crt, and NAME.key and NAME.crt, as --certificates reads them
  std::uint32_t at_once = 16;
};
// Seconds by CLOCK_MONOTONIC.
struct EnrolmentTimes {
  double all_seconds = 0;
  double median_seconds = 0;  // of one node, key and both files included
  double slowest_seconds = 0;
};
// Makes the folder where it is missing. A token with fewer uses than nodes is an error of those
// that come too late. Errors: the first that a node had; the others are enrolled all the same.
Result<EnrolmentTimes> enrol_fleet(const FleetEnrolment& order, double now_unix);

}  // namespace railgauge::fleet
