// One link a pair of ports, each driven by a thread of its own on either side, all in one stretch
// of time by one clock: the sum counts what completed on all links in the same slots of 10 ms, so
// that no link's start or end bends it. Each link's own figure is a point too, named by its pair.
#include "kernels/verbs/rails.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/core/sampling.h"
#include "kernels/core/units.h"
#include "kernels/verbs/account.h"
#include "kernels/verbs/agreement.h"
#include "kernels/verbs/bandwidth_points.h"
#include "kernels/verbs/common_clock.h"
#include "kernels/verbs/control_channel.h"
#include "kernels/verbs/link_stream.h"
#include "kernels/verbs/memory_choice.h"
#include "kernels/verbs/message_sink.h"
#include "kernels/verbs/parameters.h"
#include "kernels/verbs/stream_form.h"
#include "kernels/verbs/time_slots.h"

namespace railgauge::verbs {
namespace {

constexpr double kLeadNs = 50e6;  // the streams run this long before their slots begin
constexpr double kRailsNs = 1e9;  // the common interval where no duration is given
constexpr std::size_t kMaxPairs = 64;

// One link and what it came to.
struct Rail {
  std::unique_ptr<Link> link;
  std::optional<ControlChannel> control;  // after the link, whose domain it is registered in
  AccountBook book;
  Layout layout;
  TimeSlots slots;
  PeerStatus told;
  Status ended;
};

class Rails final : public Kernel {
 public:
  explicit Rails(Verb verb) : verb_(verb) {}

  Status prepare(Context& context) override {
    const Params& params = context.params;
    devices_ = RG_TRY(parse_devices(params.text("devices")));
    pairs_ = rail_pairs(params.text("rails"), devices_.size());
    if (pairs_.size() > kMaxPairs)
      return fail(Code::kInvalidArgument, fmt::format("parameter devices: {} pairs are above {}",
                                                      pairs_.size(), kMaxPairs));
    form_ = RG_TRY(stream_form(params));
    for (const auto& [name, is_given] :
         {std::pair{"iterations", form_.plan.writes != 0},
          std::pair{"added_cost_fraction", form_.plan.added_cost > 0}})
      if (is_given)
        return fail(
            Code::kInvalidArgument,
            fmt::format("parameter {}: is not for several devices, which share a stretch of "
                        "time; leave it out, or leave out devices",
                        name));
    if (form_.duration_ns == 0) form_.duration_ns = kRailsNs;
    options_ = link_options(params, verb_);
    // What UC and UD lose would count as bandwidth: it is not taken off yet.
    if (options_.transport != IBV_QPT_RC)
      return fail(Code::kUnimplemented,
                  "parameter transport: several devices are measured by RC only; leave out "
                  "devices for UC or UD");
    choose_memory(context, options_);
    const Operation& does = operation_of(options_.verb);
    sizes_ =
        does.is_atomic() ? std::vector{std::uint64_t{kAtomicBytes}} : params.bytes_list("sizes");
    options_.lanes = static_cast<std::uint32_t>(params.integer("qps"));
    options_.send_depth = static_cast<std::uint32_t>(form_.plan.depth);
    options_.largest_bytes = *std::ranges::max_element(sizes_);
    options_.area_bytes = area_bytes_for(does, options_.largest_bytes, options_.lanes);
    options_.sleeps = params.text("poll") == "events";
    if (!does.is_atomic()) options_.relaxed_ordering = params.boolean("relaxed_ordering");
    if (does.takes_receive)
      options_.receive_depth = static_cast<std::uint32_t>(params.integer("receive_depth"));
    if (does.verb == Verb::kSend) options_.shares_receives = params.boolean("srq");
    return {};
  }

  // Which port a link takes is known with the rank, so the links are made here.
  Status connect(Context& context, Group& group) override {
    rank_ = group.rank();
    PeerStatus told;
    told.set_arrived(devices_.size());
    const auto counts = RG_TRY(agree_on(group, Status{}, told, seconds_left(context)));
    if (counts[0].arrived() != counts[1].arrived())
      return fail(Code::kInvalidArgument,
                  fmt::format("parameter devices: {} at rank 0 and {} at rank 1; both name equally "
                              "many",
                              counts[0].arrived(), counts[1].arrived()));
    RG_TRY_OK(agree(group, open(context), seconds_left(context)));
    std::vector<std::string> peers;
    for (const auto& rail : rails_) {
      RG_TRY_OK(rail->link->connect(context, group));
      if (rail->control) RG_TRY_OK(rail->control->connect(context, *rail->link, group));
      rail->book.set_port(rail->link->device());
      peers.push_back(rail->link->peer().endpoint());
    }
    rails_.front()->link->report_facts(context.reporter);
    rails_.front()->book.report_fact(context.reporter);
    context.reporter.fact("devices", fmt::format("{}", fmt::join(devices_, ",")));
    context.reporter.fact("peers", fmt::format("{}", fmt::join(peers, ",")));
    return {};
  }

  Status measure(Context& context, Group& group) override {
    for (const auto& rail : rails_)
      rail->link->waiting().set_limits(tick_clock(context), context.deadline_monotonic_ns,
                                       context.params.duration_ns("stall_timeout"));
    Status here;
    for (std::size_t i = 0; i < sizes_.size() && here; ++i) here = measure_size(context, group, i);
    for (const auto& rail : rails_)
      note_troubles(rail->book, rail->link->device(), here, context.reporter);
    return here;
  }

 private:
  [[nodiscard]] bool streams() const { return form_.both || rank_ == 0; }
  [[nodiscard]] bool takes() const { return operation_of(options_.verb).takes_receive; }

  Status open(const Context& context) {
    for (const RailPair& pair : pairs_) {
      Context own = context;
      own.endpoint = devices_[rank_ == 0 ? pair.initiator : pair.target];
      auto rail = std::make_unique<Rail>();
      rail->link = RG_TRY(Link::open(own, options_));
      if (takes() || form_.both) rail->control = RG_TRY(ControlChannel::open(*rail->link));
      rails_.push_back(std::move(rail));
    }
    return {};
  }

  Status measure_size(Context& context, Group& group, std::size_t size_index) {
    RG_TRY_OK(agree(group, set_up(size_index), seconds_left(context)));
    Status here = run_all(context, size_index);
    PeerStatus told;
    for (const auto& rail : rails_) *told.add_links() = rail->told;
    const auto all = RG_TRY(agree_on(group, here, told, seconds_left(context)));
    if (all[1 - rank_].links_size() != static_cast<int>(rails_.size()))
      return fail(Code::kInternal, fmt::format("rank {}: tells of other links", 1 - rank_));
    if (context.params.boolean("verify")) here = verify(size_index, all);
    PeerStatus closing;
    for (const auto& rail : rails_) *closing.add_accounts() = rail->book.close();
    const auto closed = RG_TRY(agree_on(group, here, closing, seconds_left(context)));
    return rank_ == 0 ? report(context, size_index, all, closed) : Status{};
  }

  Status set_up(std::size_t size_index) {
    for (const auto& rail : rails_) {
      Link& link = *rail->link;
      rail->layout = stream_layout(link, sizes_[size_index]);
      rail->told.Clear();
      RG_TRY_OK(set_up_areas(link, rail->layout, size_index, rank_));
      if (takes())
        RG_TRY_OK(renew_receives(link, rail->layout.target,
                                 {.sends = streams(), .receives = form_.both || rank_ == 1},
                                 size_index > 0));
      rail->book.open();
    }
    return {};
  }

  // All links in one stretch of time; a passive target has nothing to do.
  Status run_all(Context& context, std::size_t size_index) {
    if (!streams() && !takes()) return {};
    const TickClock& clock = tick_clock(context);
    const auto lead = static_cast<std::uint64_t>(kLeadNs / clock.ns_per_tick());
    CommonBegin begin{clock.ticks() + lead, 0};
    Rail& first = *rails_.front();
    if (form_.both && !agree_on_begin(*first.control, clock, rank_, kLeadNs, begin))
      return tl::unexpected(first.link->waiting().failure());
    uncertainty_ns_ = begin.uncertainty_ns;
    if (seconds_left(context) * 1e9 < kLeadNs + form_.duration_ns)
      return fail(Code::kDeadlineExceeded,
                  fmt::format("parameter duration: {} ends after the task's deadline",
                              canonical_duration(form_.duration_ns)));
    std::vector<std::jthread> threads;
    for (const auto& rail : rails_) {
      rail->slots = TimeSlots();
      rail->slots.begin_ticks = begin.ticks;
      rail->slots.slot_ticks = static_cast<std::uint64_t>(kSlotNs / clock.ns_per_tick());
      rail->slots.counts.resize(static_cast<std::size_t>(form_.duration_ns / kSlotNs));
      threads.emplace_back([this, &clock, size_index, own = rail.get()] {
        own->ended = run_one(clock, size_index, *own);
        if (!own->ended && own->control) own->control->abort();
      });
    }
    threads.clear();
    for (const auto& rail : rails_)
      if (!rail->ended) return rail->ended;
    return {};
  }

  Status run_one(const TickClock& clock, std::size_t size_index, Rail& rail) const {
    Link& link = *rail.link;
    const auto failure = [&link] { return tl::unexpected(link.waiting().failure()); };
    rail.book.begin_work();
    if (!streams()) {
      if (!sink_messages(link, *rail.control, clock)) return failure();
      rail.book.end_work(static_cast<double>(link.receives().arrived()));
      rail.told.set_arrived(link.receives().arrived());
      return {};
    }
    const std::vector<Request> made = stream_requests(link, sizes_[size_index]);
    Stream stream(link.sends(), clock, made, stream_plan(form_.plan, sizes_[size_index]),
                  stream_aim(link, rail.layout));
    ReceiveQueue* const receives = form_.both && takes() ? &link.receives() : nullptr;
    if (!count_in(rail.slots, stream, receives, clock)) return failure();
    rail.book.end_work(static_cast<double>(stream.completed()));
    rail.told.mutable_counts()->Assign(rail.slots.counts.begin(), rail.slots.counts.end());
    if (receives != nullptr) {
      if (!stream.close() || !finish_and_sink(link, *rail.control, clock, stream.posted()))
        return failure();
      rail.told.set_arrived(receives->arrived());
    }
    if (!stream.finish()) return failure();
    rail.told.set_posted(stream.posted());
    rail.told.set_slots_written(stream.slots_written());
    if (!form_.both && takes() &&
        !rail.control->send(ControlWord::of(Order::kDone, stream.posted())))
      return failure();
    return {};
  }

  Status verify(std::size_t size_index, const std::vector<PeerStatus>& all) const {
    for (std::size_t i = 0; i < rails_.size(); ++i) {
      const auto number = static_cast<int>(i);
      RG_TRY_OK(verify_stream(*rails_[i]->link, rails_[i]->layout,
                              {.size_index = size_index, .rank = rank_, .both = form_.both},
                              all[rank_].links(number), all[1 - rank_].links(number)));
    }
    return {};
  }

  using Counts = std::vector<std::vector<std::uint32_t>>;

  // The points of one link (`form.pair`), or of all together.
  Status report_counts(Context& context, const Counts& counts, const Rail& rail,
                       const PointForm& form, const std::map<std::string, std::string>& facts,
                       const std::string& pair) const {
    Measured measured = measured_by_slots(
        counts, {.slot_seconds = tick_clock(context).to_ns(rail.slots.slot_ticks) / 1e9,
                 .message_bytes = form.message_bytes,
                 .group = stream_plan(form_.plan, form.message_bytes).signal_every});
    measured.facts.insert(facts.begin(), facts.end());
    if (form_.both) measured.facts["clock_uncertainty_ns"] = fmt::format("{:.0f}", uncertainty_ns_);
    for (Point& point :
         RG_TRY(make_points(context, rail.link->device(), std::move(measured), form))) {
      point.set_verified(context.params.boolean("verify"));
      point.set_pair(pair);
      context.reporter.point(std::move(point));
    }
    return {};
  }

  Status report(Context& context, std::size_t size_index, const std::vector<PeerStatus>& all,
                const std::vector<PeerStatus>& closed) const {
    const char* meaning = form_.both ? "bidirectional_sum" : "unidirectional";
    const PointForm form{.message_bytes = sizes_[size_index],
                         .meaning = meaning,
                         .directions = form_.both ? 2U : 1U,
                         .precision = context.params.number("precision")};
    const auto bytes = static_cast<double>(sizes_[size_index]);
    Counts sum;
    std::array<CpuCost, 2> costs;
    for (std::size_t i = 0; i < rails_.size(); ++i) {
      const Rail& rail = *rails_[i];
      const auto number = static_cast<int>(i);
      Counts own;
      std::map<std::string, std::string> facts;
      for (std::size_t rank = 0; rank < 2; ++rank) {
        const PeerStatus& told = all[rank].links(number);
        if (rank == 0 || form_.both) own.emplace_back(told.counts().begin(), told.counts().end());
        if (number >= closed[rank].accounts_size()) continue;
        const Account& account = closed[rank].accounts(number);
        const std::string prefix = rank == 0 ? "" : "peer_";
        add_bandwidth_cost({account.cpu_ns(), account.messages()}, bytes, prefix, facts);
        add_troubles(account, prefix, facts);
        costs[rank].cpu_ns += account.cpu_ns();
        costs[rank].messages += account.messages();
      }
      if (own.size() == 2 && own[0].size() != own[1].size())
        return fail(Code::kInternal, "rank 1: counted in other slots");
      PointForm one = form;
      one.line_rate_waiver =
          line_rate_waiver(rail.link->device(), rail.link->mine(), rail.link->peer());
      RG_TRY_OK(report_counts(context, own, rail, one, facts,
                              rail.link->device().endpoint() + ">" + rail.link->peer().endpoint()));
      sum.insert(sum.end(), own.begin(), own.end());
    }
    PointForm together = form;
    together.line_rate_waiver = "a sum, whose parts are held against their own ports";
    std::map<std::string, std::string> facts;
    facts["links"] = std::to_string(rails_.size());
    add_bandwidth_cost(costs[0], bytes, "", facts);
    add_bandwidth_cost(costs[1], bytes, "peer_", facts);
    return report_counts(context, sum, *rails_.front(), together, facts, "");
  }

  Verb verb_;
  std::vector<std::string> devices_;
  std::vector<RailPair> pairs_;
  StreamForm form_;
  Link::Options options_;
  std::vector<std::uint64_t> sizes_;
  std::vector<std::unique_ptr<Rail>> rails_;
  double uncertainty_ns_ = 0;
  std::uint32_t rank_ = 0;
};

}  // namespace

std::vector<RailPair> rail_pairs(std::string_view rails, std::size_t count) {
  std::vector<RailPair> pairs;
  for (std::size_t i = 0; i < count; ++i) {
    if (rails == "same") pairs.push_back({i, i});
    if (rails == "cross") pairs.push_back({i, (i + 1) % count});
    for (std::size_t k = 0; rails == "all" && k < count; ++k) pairs.push_back({i, k});
  }
  return pairs;
}

Result<std::vector<std::string>> parse_devices(const std::string& text) {
  std::vector<std::string> devices;
  std::set<std::string> seen;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    devices.push_back(text.substr(begin, end - begin));
    if (devices.back().empty() || !seen.insert(devices.back()).second)
      return fail(
          Code::kInvalidArgument,
          fmt::format("parameter devices: \"{}\" {}; name each port once, as DEV:PORT,DEV:PORT",
                      text, devices.back().empty() ? "has an empty name" : "repeats one"));
    begin = end + 1;
  }
  return devices;
}

std::unique_ptr<Kernel> make_rails(Verb verb) { return std::make_unique<Rails>(verb); }

}  // namespace railgauge::verbs
