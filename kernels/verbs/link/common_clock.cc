#include "kernels/verbs/link/common_clock.h"

#include <limits>

namespace railgauge::verbs {
namespace {

// The shortest of 64 round trips is free of scheduling delays in practice.
constexpr int kExchanges = 64;

// Times travel as ns since a moment of each rank's own, shortly before: they fit 48 bits.
class OwnTime {
 public:
  explicit OwnTime(const TickClock& clock) : clock_(clock), origin_(clock.ticks()) {}
  [[nodiscard]] double now_ns() const { return clock_.to_ns(clock_.ticks() - origin_); }
  [[nodiscard]] std::uint64_t ticks_at(double ns) const {
    return origin_ + static_cast<std::uint64_t>(ns / clock_.ns_per_tick());
  }

 private:
  const TickClock& clock_;
  std::uint64_t origin_;
};

// Rank 0. Cristian's method: the peer's clock is read half a round trip after the question, and the
// error is at most half that round trip.
bool set_begin(ControlChannel& control, const OwnTime& time, double lead_ns, CommonBegin& begin) {
  double shortest_ns = std::numeric_limits<double>::infinity();
  double offset_ns = 0;  // theirs less ours
  for (int i = 0; i < kExchanges; ++i) {
    ControlWord answer;
    const double asked_ns = time.now_ns();
    if (!control.send(ControlWord::of(Order::kTime, 0)) || !control.receive(answer)) return false;
    const double answered_ns = time.now_ns();
    if (answered_ns - asked_ns >= shortest_ns) continue;
    shortest_ns = answered_ns - asked_ns;
    offset_ns = static_cast<double>(answer.value()) - (asked_ns + answered_ns) / 2;
  }
  const double begin_ns = time.now_ns() + lead_ns;
  begin = {time.ticks_at(begin_ns), shortest_ns / 2};
  const auto theirs_ns = static_cast<std::uint64_t>(begin_ns + offset_ns);
  ControlWord ready;  // else a later word could overtake a slow reader
  return control.send(ControlWord::of(Order::kBegin, theirs_ns)) && control.receive(ready);
}

// Rank 1: answers with its time until rank 0 sends the begin in rank 1's own time.
bool learn_begin(ControlChannel& control, const OwnTime& time, CommonBegin& begin) {
  for (;;) {
    ControlWord word;
    if (!control.receive(word)) return false;
    if (word.order == Order::kBegin) {
      begin = {time.ticks_at(static_cast<double>(word.value())), 0};
      return control.send({.order = Order::kReady});
    }
    const auto now_ns = static_cast<std::uint64_t>(time.now_ns());
    if (!control.send(ControlWord::of(Order::kTime, now_ns))) return false;
  }
}

}  // namespace

bool agree_on_begin(ControlChannel& control, const TickClock& clock, std::uint32_t rank,
                    double lead_ns, CommonBegin& begin) {
  const OwnTime time(clock);
  return rank == 0 ? set_begin(control, time, lead_ns, begin) : learn_begin(control, time, begin);
}

}  // namespace railgauge::verbs
