#include "agent/watch/rules.h"

#include <array>

#include "agent/watch/xid_kind.h"
#include "kernels/core/base/severity.h"

namespace railgauge::agent {
namespace {
constexpr double kSecond = 1;
constexpr double kMinute = 60 * kSecond;
constexpr double kHour = 60 * kMinute;
constexpr double kDay = 24 * kHour;
constexpr double kShort = 10 * kSecond;  // for limits per second

// Limits per second are NVSentinel's, carrier losses a day are Azure's (node health checks); limits
// of retransmits, CNP and correctable PCIe errors are ours. Widths are InfiniBand's (PortCounters).
constexpr std::array kRules{
    WatchRule{WatchPlace::kPort, "link_downed", 8, kHour, 0, false, severity::kCritical,
              "the link went down"},
    WatchRule{WatchPlace::kPort, "symbol_error", 16, kHour, 120, false, severity::kCritical,
              "a bad cable, transceiver or port"},
    WatchRule{WatchPlace::kPort, "symbol_error", 16, kShort, 10 * kShort, true, severity::kWarning,
              "a bad cable, transceiver or port"},
    WatchRule{WatchPlace::kPort, "link_error_recovery", 8, kMinute, 5, true, severity::kWarning,
              "the link trains again and again"},
    WatchRule{WatchPlace::kPort, "port_rcv_errors", 16, kShort, 10 * kShort, true,
              severity::kWarning, "packets arrive broken"},
    WatchRule{WatchPlace::kPort, "port_xmit_discards", 16, kShort, 100 * kShort, true,
              severity::kWarning, "packets are dropped before the wire"},
    WatchRule{WatchPlace::kPort, "excessive_buffer_overrun_errors", 4, kHour, 0, false,
              severity::kCritical, "the port's buffers overflow"},
    WatchRule{WatchPlace::kPort, "local_link_integrity_errors", 4, kHour, 0, false,
              severity::kCritical, "the link's errors passed its own limit"},
    WatchRule{WatchPlace::kPortHardware, "rnr_nak_retry_err", 32, kHour, 0, false,
              severity::kCritical, "a connection gave up on a peer that was not ready"},
    WatchRule{WatchPlace::kPortHardware, "local_ack_timeout_err", 32, kShort, 1 * kShort, true,
              severity::kWarning, "packets or their acknowledgements are lost"},
    WatchRule{WatchPlace::kPortHardware, "packet_seq_err", 32, kShort, 10 * kShort, true,
              severity::kWarning, "packets are lost and sent again"},
    WatchRule{WatchPlace::kPortHardware, "out_of_sequence", 32, kShort, 10 * kShort, true,
              severity::kWarning, "packets are lost and sent again"},
    WatchRule{WatchPlace::kPortHardware, "roce_adp_retrans", 32, kShort, 10 * kShort, true,
              severity::kWarning, "packets are lost and sent again"},
    WatchRule{WatchPlace::kPortHardware, "roce_slow_restart", 32, kShort, 10 * kShort, true,
              severity::kWarning, "senders start slowly after loss"},
    WatchRule{WatchPlace::kPortHardware, "np_cnp_sent", 64, kMinute, 1000 * kMinute, true,
              severity::kWarning, "the network marks congestion towards this port"},
    WatchRule{WatchPlace::kPortHardware, "rp_cnp_handled", 64, kMinute, 1000 * kMinute, true,
              severity::kWarning, "this port is asked to slow down"},
    WatchRule{WatchPlace::kNetdev, "carrier_changes", 32, kDay, 9, false, severity::kCritical,
              "the link flaps: five losses a day"},
    WatchRule{WatchPlace::kNetdev, "carrier_changes", 32, 10 * kMinute, 2, false,
              severity::kWarning, "the link flaps"},
    WatchRule{WatchPlace::kPci, "aer_dev_fatal", 64, kHour, 0, false, severity::kCritical,
              "PCIe lost data on this link"},
    WatchRule{WatchPlace::kPci, "aer_dev_nonfatal", 64, kHour, 0, false, severity::kWarning,
              "PCIe transactions failed on this link"},
    WatchRule{WatchPlace::kPci, "aer_dev_correctable", 64, kHour, 100, false, severity::kWarning,
              "PCIe repeats transfers: signal integrity of this slot"},
    WatchRule{WatchPlace::kGpu, "row_remap_failed", 32, kHour, 0, false, severity::kCritical,
              "no spare row was left: replace the GPU"},
    WatchRule{WatchPlace::kGpu, "row_remap_pending", 32, kHour, 0, false, severity::kWarning,
              "a row waits to be remapped: reset the GPU"},
    WatchRule{WatchPlace::kGpu, "row_remap_uncorrectable", 32, kHour, 0, false, severity::kWarning,
              "a row was remapped after lost data"},
    WatchRule{WatchPlace::kGpu, "row_remap_correctable", 32, kHour, 0, false, "",
              "a row was remapped in time"},
};
}  // namespace

std::span<const WatchRule> watch_rules() { return kRules; }

const char* xid_severity(unsigned xid) {
  switch (xid_kind(xid)) {
    case XidKind::kProgram:
      return severity::kInfo;
    case XidKind::kHardware:
      return severity::kCritical;
    case XidKind::kOther:
      break;
  }
  return severity::kWarning;
}

}  // namespace railgauge::agent
