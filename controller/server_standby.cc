// The controller's part among those of its site.
#include <fmt/format.h>

#include "controller/server.h"
#include "controller/store/outbox/warm_copy.h"

namespace railgauge {
namespace {

// For which an attempt waits until the archive knows it. A night is not held up by an archive that
// is slow or away.
constexpr double kMostStartSeconds = 2;
// For which the answer to a person waits until the archive has what was changed.
constexpr double kMostAnswerSeconds = 5;

}  // namespace

// Without a lease the generation is that of the last one, so that agents that have seen it know
// this database for the site's own.
Result<Server::ArchiveGates> Server::begin_term(const Config& config, store::Store& store,
                                                fleet::Term& term) {
  const store::CopyState state = RG_TRY(store.read(store::read_copy_state));
  if (!config.standby.is_on && state.copy_epoch > 0)
    return fail(
        Code::kFailedPrecondition,
        fmt::format("{} is a standby's copy of a site; start it with --standby", config.database));
  if (term.generation == 0) term.generation = static_cast<std::uint64_t>(state.generation);
  ArchiveGates gates;
  if (config.acknowledges_by_mirror) {
    gates.acknowledgements = std::make_shared<mirror::ArchiveGate>();
    gates.answers = std::make_shared<mirror::ArchiveGate>(kMostAnswerSeconds);
    term.hold_acknowledgement = [gate = gates.acknowledgements](std::function<void()> acknowledge) {
      gate->hold(std::move(acknowledge), fleet::monotonic_seconds());
    };
  }
  if (config.standby.is_on) {
    gates.starts = std::make_shared<mirror::ArchiveGate>(kMostStartSeconds);
    term.hold_start = [gate = gates.starts](std::function<void()> begin) {
      gate->hold(std::move(begin), fleet::monotonic_seconds());
    };
  }
  return gates;
}

// Called once, before the ports open: later the role changes with the process alone.
Status Server::open_roles(const Config& config, const fleet::Term& term) {
  if (gates_.answers)
    gate_.hold_answers([gate = gates_.answers](std::function<void(bool)> answer) {
      gate->hold([gate, answer = std::move(answer)] { answer(!gate->is_late()); },
                 fleet::monotonic_seconds());
    });
  const bool has_lease = config.standby.is_on && term.generation > 0;
  role_.set_role(has_lease ? "active" : "single");
  role_.set_site(config.mirror.site);
  role_.set_generation(static_cast<double>(term.generation));
  role_.set_address(config.standby.advertise);
  role_.set_active(has_lease ? config.standby.advertise : "");
  role_service_ = standby::make_role_service(
      {.role = [this] { return role(); },
       .promise =
           [this](const api::PromiseRequest& /*request*/) {
             api::PromiseAnswer answer;  // it has the lease itself
             answer.set_generation(static_cast<std::int64_t>(role_.generation()));
             return answer;
           }},
      [this](const grpc::CallbackServerContext& context) { return peers_.peer_of(context); });
  if (!has_lease) return {};
  metric::Registry& series = metrics_.series();
  series.set("railgauge_controller_active", {}, 1);
  series.set("railgauge_controller_generation", {}, role_.generation());
  series.raise_to("railgauge_takeovers_total", {}, term.has_taken_over ? 1 : 0);
  if (!term.has_taken_over) return {};
  note("controller_took_over",
       fmt::format("controller {} has taken site {} over, generation {:.0f}", role_.address(),
                   role_.site(), role_.generation()));
  loop_.call([this] {
    next_schedules_ = judges_left_open_ = fleet::monotonic_seconds() + kFirstAfterTakeoverSeconds;
  });
  return {};
}

// The lag is that of the archive behind this controller: what a takeover now would ask agents for.
api::ControllerRole Server::role() const {
  api::ControllerRole role = role_;
  if (has_mirror_) role.set_lag_seconds(mirror_lag_);
  return role;
}

// For /healthz, above what works in part only.
std::string Server::role_line() const {
  if (role_.role() != "active") return "";
  return fmt::format("active for site {}, generation {:.0f}; the archive is {:.1f} s behind\n",
                     role_.site(), role_.generation(), mirror_lag_.load());
}

}  // namespace railgauge
