// A controller's turn among those of its site: it waits as a standby until it is to act, and
// becomes a standby again when it has lost the lease.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "controller/config.h"
#include "controller/fleet/fleet.h"
#include "controller/standby/front.h"
#include "controller/standby/lease_keeper.h"
#include "kernels/core/base/result.h"

namespace railgauge {

// The lease, which is renewed on a thread of its own.
struct Turn {
  std::unique_ptr<standby::LeaseKeeper> lease{};  // nullptr: `is_over` ended the wait
  bool has_taken_over = false;                    // another controller was active before
};

// How the process begins anew as a standby.
struct SelfStart {
  char** arguments = nullptr;            // main's
  std::vector<std::string> variables{};  // NAME=VALUE, beside those of the environment
};

// Waits for this controller's turn, with ports and database of the settings, which are free again
// at the return. `is_open` is called once they are open, which takes long where the database is
// migrated; from then on `is_over` is looked at several times a second. When the lease is lost
// later, the process begins anew as a standby. Errors are one line that names the setting at fault.
Result<Turn> await_turn(const Config& config, const SelfStart& again,
                        const std::function<void()>& is_open, const std::function<bool()>& is_over);
// The standby's TCP port: that of an active controller, with its certificates, its revocation list
// and its bounds. Its errors name the setting at fault.
standby::OpenPort standby_port(const TcpOptions& options);
// Why this controller could sign no certificate of a node, as one line that names the setting; "":
// it could, or is not to enrol nodes.
std::string enrolment_fault(const Config& config);
// Which points a takeover loses because the archive keeps less than the controller, as one line
// that names the settings; "": none.
std::string archive_fault(const Config& config);
// The turn as the fleet needs it. The lease outlives the fleet.
fleet::Term term_of(const Turn& turn);

}  // namespace railgauge
