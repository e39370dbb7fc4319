// THE list of the kinds of events that are stored, for those who name kinds before one came.
#pragma once

#include <string_view>

namespace railgauge::api {

// A kind of one of these names, or an older controller's. Words are parts of it: "stack", "xid".
inline constexpr std::string_view kEventKinds =
    "backup_failed backup_works certificate_renewed controller_started controller_took_over "
    "crl_expired "
    "crl_refused "
    "crl_reloaded delivery_dropped delivery_failed delivery_late delivery_works "
    "enrolment_refused hardware_replaced maintenance_over maintenance_paused "
    "maintenance_resumed measured_twice mirror_behind mirror_works node_attached node_barred "
    "node_busy "
    "node_changes_left_out node_clock_off node_clock_right node_enrolled node_idle node_lost "
    "node_refused node_renamed node_resumed nodes_absent nodes_busy nodes_paused nodes_refused "
    "orphans_dropped record_refused run_forced run_interrupted schedule_missed schedule_resumed "
    "stack_changed tls_refused tls_reloaded upgrade_proposed watch_counter "
    "watch_device_returned watch_device_vanished watch_other watch_row_remap watch_sxid "
    "watch_watch watch_xid";

// Counters of links, by whose growth `watch_counter` reports that a link went down or up.
inline constexpr std::string_view kLinkCounters =
    "carrier_changes link_downed link_error_recovery local_link_integrity_errors";

}  // namespace railgauge::api
