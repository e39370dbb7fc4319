// One link a pair of ports, each driven by a thread of its own on either side, next to its port's
// NUMA node, all in one stretch of time by one clock: the sum counts what completed on all links in
// the same slots of 10 ms, so that no link's start or end bends it. Each link's own figure is a
// point too, named by its pair.
#include "kernels/verbs/rails/rails.h"

#include <algorithm>
#include <map>
#include <optional>
#include <system_error>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/core/agreement.h"
#include "kernels/host_cost/host_cost.h"
#include "kernels/verbs/link/memory_choice.h"
#include "kernels/verbs/link/message_sink.h"
#include "kernels/verbs/link/parameters.h"
#include "kernels/verbs/memory/near_node.h"
#include "kernels/verbs/proof/link_proof.h"
#include "kernels/verbs/rails/report.h"
#include "kernels/verbs/stream/link_stream.h"

namespace railgauge::verbs {
namespace {

constexpr double kRailsNs = 2e9;  // the common interval where no duration is given
// 8 ports on each side, all to all; bounds threads and memory.
constexpr std::size_t kMaxPairs = 64;

// One link and its results.
struct Rail {
  std::unique_ptr<Link> link;
  std::optional<ControlChannel> control;  // after the link, whose domain it is registered in
  AccountBook book;
  // The slots of the size that runs.
  Layout layout;
  // The proof of that size.
  Proved proved;
  TimeSlots slots;
  // This rank's numbers for the peer.
  PeerStatus told;
  // Written by the link's thread, read after the join.
  Status ended;
  std::string numa;                          // where its thread runs
  std::map<std::string, std::string> facts;  // of this link alone

  // `status` with the link's name in front.
  [[nodiscard]] Status named(Status status) const {
    if (!status)
      status.error().message.insert(
          0, fmt::format("link {}>{}: ", link->device().endpoint(), link->peer().endpoint()));
    return status;
  }
};

// Keeps the facts of one link and passes on the rest.
class FactKeeper final : public Reporter {
 public:
  explicit FactKeeper(Reporter& to) : to_(to) {}
  void point(Point point) override { to_.point(std::move(point)); }
  void note(std::string_view severity, std::string text) override {
    to_.note(severity, std::move(text));
  }
  void fact(std::string_view name, std::string value) override {
    kept[std::string(name)] = std::move(value);
  }
  std::map<std::string, std::string> kept;

 private:
  Reporter& to_;
};

// Each pair as often as threads drive it.
std::vector<RailPair> for_each_thread(const std::vector<RailPair>& pairs, std::size_t threads) {
  std::vector<RailPair> all;
  for (const RailPair& pair : pairs) all.insert(all.end(), threads, pair);
  return all;
}

// Parameters that have no meaning where links share a stretch of time.
Status check_form(const StreamForm& form, const Link::Options& options) {
  for (const auto& [name, is_given] : {std::pair{"iterations", form.plan.writes != 0},
                                       std::pair{"added_cost_fraction", form.plan.added_cost > 0}})
    if (is_given)
      return fail(Code::kInvalidArgument,
                  fmt::format("parameter {}: is not for several devices, which share a stretch of "
                              "time; leave it out, or leave out devices",
                              name));
  if (options.transport != Transport::kUc && options.transport != Transport::kUd) return {};
  return fail(Code::kUnimplemented,
              "parameter transport: what UC and UD lose would count as bandwidth of several "
              "devices, where nobody takes it off; take RC, or leave out devices");
}

// The task's thread prepares, connects and reports; one thread per link runs the stream.
class Rails final : public Kernel {
 public:
  explicit Rails(Verb verb) : verb_(verb) {}

  // Reads the parameters once; links differ in device, GPU and address alone.
  Status prepare(Context& context) override {
    const Params& params = context.params;
    devices_ = params.text("devices").empty() ? std::vector{context.endpoint}
                                              : RG_TRY(parse_devices(params.text("devices")));
    threads_ = static_cast<std::size_t>(params.integer("threads"));
    pairs_ = rail_pairs(params.text("rails"), devices_.size());
    pairs_ = for_each_thread(pairs_, threads_);
    if (pairs_.size() > kMaxPairs)
      return fail(Code::kInvalidArgument, fmt::format("parameter devices: {} pairs are above {}",
                                                      pairs_.size(), kMaxPairs));
    form_ = RG_TRY(stream_form(params));
    options_ = link_options(params, verb_);
    RG_TRY_OK(check_form(form_, options_));
    if (form_.duration_ns == 0) form_.duration_ns = kRailsNs;
    choose_memory(context, options_);
    sizes_ = sizes_of(params, operation_of(options_.verb));
    options_.largest_bytes = *std::ranges::max_element(sizes_);
    add_stream_options(params, form_.plan, options_);
    RG_TRY_OK(check_pace(form_.plan, options_.largest_bytes));
    host_cost_ = HostCostMeter(wants_host_cost(params));
    rank_ = context.rank;
    return open(context);
  }

  // The ranks compare the number of devices first: with different numbers the exchanges of the
  // links would not match.
  Status connect(Context& context, Group& group) override {
    RG_CHECK(group.rank() == rank_);
    PeerStatus told;
    told.set_arrived(devices_.size());
    const auto counts = RG_TRY(agree_on(group, Status{}, told, seconds_left(context)));
    if (counts[0].arrived() != counts[1].arrived())
      return fail(Code::kInvalidArgument,
                  fmt::format("parameter devices: {} at rank 0 and {} at rank 1; both name equally "
                              "many",
                              counts[0].arrived(), counts[1].arrived()));
    for (const auto& rail : rails_) {
      RG_TRY_OK(rail->named(rail->link->connect(context, group)));
      if (rail->control)
        RG_TRY_OK(rail->named(rail->control->connect(context, *rail->link, group)));
      rail->book.set_port(rail->link->device());
    }
    report_facts(context.reporter);
    return {};
  }

  // Sets each link's limits, then measures the sizes in turn.
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
  // Whether messages use up receives.
  [[nodiscard]] bool takes() const { return operation_of(options_.verb).takes_receive; }

  // One link a pair. The calling thread is pinned near the port while the link allocates.
  Status open(const Context& context) {
    const auto gpus = RG_TRY(one_for_each("gpu", options_.memory.gpu, devices_.size()));
    const auto addresses = RG_TRY(one_for_each("cm_address", options_.cm_address, devices_.size()));
    const auto places = RG_TRY(device_places());
    options_.pins = false;  // each link's thread is pinned on its own
    for (const RailPair& pair : pairs_) {
      const std::size_t position = rank_ == 0 ? pair.initiator : pair.target;
      // The link sees its own port as the task's endpoint.
      Context own = context;
      own.endpoint = devices_[position];
      Link::Options options = options_;
      options.memory.gpu = gpus[position];
      options.cm_address = addresses[position];
      auto rail = std::make_unique<Rail>();
      // Its memory belongs where its thread will be.
      const auto device = RG_TRY(Device::open(own.endpoint));
      const Pinned pinned = pin_near(device.numa_node(), device.name());
      rail->numa = pinned.words;
      rail->link = RG_TRY(Link::open(own, options));
      RailPort& port = *rail->link->mine().mutable_rail();
      port.set_number(RG_TRY(rail_number(places, device.name())));
      port.set_port(rail->link->device().port());
      if (takes() || form_.both || context.params.boolean("verify"))
        rail->control = RG_TRY(ControlChannel::open(*rail->link));
      rails_.push_back(std::move(rail));
    }
    return {};
  }

  // The first link's are the task's; the others' that differ are their points' own.
  void report_facts(Reporter& reporter) {
    std::vector<std::string> peers;
    std::vector<std::string> places;
    std::map<std::string, std::string> common;
    for (const auto& rail : rails_) {
      FactKeeper keeper(reporter);
      rail->link->report_facts(keeper);
      rail->book.report_fact(keeper);
      if (rail == rails_.front()) common = keeper.kept;
      for (const auto& [name, value] : keeper.kept)
        if (const auto first = common.find(name); first == common.end() || first->second != value)
          rail->facts[name] = value;
      rail->facts["numa"] = rail->numa;
      peers.push_back(rail->link->peer().endpoint());
      places.push_back(rail->link->device().endpoint() + " " + rail->numa);
    }
    for (auto& [name, value] : common) reporter.fact(name, value);
    reporter.fact("devices", fmt::format("{}", fmt::join(devices_, ",")));
    reporter.fact("peers", fmt::format("{}", fmt::join(peers, ",")));
    reporter.fact("numa", fmt::format("{}", fmt::join(places, ", ")));
  }

  // One size on all links at once; the agreements cover all of them.
  Status measure_size(Context& context, Group& group, std::size_t size_index) {
    host_cost_.look_before();
    RG_TRY_OK(agree<PeerStatus>(group, set_up(size_index), seconds_left(context)));
    host_cost_.start();
    Status here = run_all(context, size_index);
    PeerStatus told;
    for (const auto& rail : rails_) *told.add_links() = rail->told;
    const auto all = RG_TRY(agree_on(group, here, told, seconds_left(context)));
    const HostCostWords cost = host_cost_.stop();
    if (all[1 - rank_].links_size() != static_cast<int>(rails_.size()))
      return fail(Code::kInternal, fmt::format("rank {}: reports other links", 1 - rank_));
    if (context.params.boolean("verify")) here = verify(size_index, all);
    PeerStatus closing;
    *closing.mutable_host_cost() = cost;
    for (const auto& rail : rails_) *closing.add_accounts() = rail->book.close();
    const auto closed = RG_TRY(agree_on(group, here, closing, seconds_left(context)));
    if (context.params.boolean("verify"))
      RG_TRY_OK(agree<PeerStatus>(group, prove(context, size_index), seconds_left(context)));
    return rank_ == 0 ? report(context, size_index, all, closed) : Status{};
  }

  // Fills and clears the areas and gives out receives, on each link.
  Status set_up(std::size_t size_index) {
    for (const auto& rail : rails_) {
      Link& link = *rail->link;
      rail->layout = stream_layout(link, sizes_[size_index]);
      rail->told.Clear();
      RG_TRY_OK(rail->named(set_up_stream(link, rail->layout, size_index, rank_)));
      if (takes())
        RG_TRY_OK(rail->named(renew_receives(
            link, rail->layout.target, {.sends = streams(), .receives = form_.both || rank_ == 1},
            size_index > 0)));
      rail->book.open();
    }
    return {};
  }

  // All links in one stretch of time; a passive target has nothing to do.
  Status run_all(Context& context, std::size_t size_index) {
    if (!streams() && !takes()) return {};
    const TickClock& clock = tick_clock(context);
    CommonBegin begin;
    Rail& first = *rails_.front();
    if (!choose_begin(form_.both ? &*first.control : nullptr, clock, rank_, begin))
      return first.named(tl::unexpected(first.link->waiting().failure()));
    uncertainty_ns_ = begin.uncertainty_ns;
    RG_TRY_OK(check_time_left(context, form_.duration_ns));
    std::vector<std::jthread> threads;
    for (const auto& rail : rails_) {
      rail->slots = empty_slots(begin, clock, form_.duration_ns);
      rail->ended = Status{};  // before its thread, which writes it, is there
      Status started = start_one(clock, size_index, *rail, threads);
      if (started) continue;
      rail->ended = std::move(started);
      if (rail->control) rail->control->abort();
    }
    threads.clear();
    return what_ended();
  }

  // The thread pins itself, runs the stream, and on a failure aborts the peer's link.
  // kResourceExhausted where it cannot start.
  Status start_one(const TickClock& clock, std::size_t size_index, Rail& rail,
                   std::vector<std::jthread>& threads) const {
    try {
      threads.emplace_back([this, &clock, size_index, &rail] {
        const Pinned pinned = pin_near(rail.link->device().numa_node(), rail.link->device().name());
        Status ended = run_one(clock, size_index, rail);
        if (!ended && rail.control) rail.control->abort();
        rail.ended = std::move(ended);
      });
    } catch (const std::system_error& error) {
      return fail(Code::kResourceExhausted, fmt::format("start its thread: {}", error.what()));
    }
    return {};
  }

  // An abort by the peer is less informative than another link's error.
  [[nodiscard]] Status what_ended() const {
    const Rail* worst = nullptr;
    for (const auto& rail : rails_) {
      if (rail->ended) continue;
      const bool says_more = worst != nullptr && worst->ended.error().code == Code::kAborted;
      if (worst == nullptr || says_more) worst = rail.get();
    }
    return worst == nullptr ? Status{} : worst->named(worst->ended);
  }

  // One link's part, in its own thread. Touches nothing of the other links.
  Status run_one(const TickClock& clock, std::size_t size_index, Rail& rail) const {
    Link& link = *rail.link;
    const StreamPart part{.link = link,
                          .control = rail.control ? &*rail.control : nullptr,
                          .book = rail.book,
                          .clock = clock,
                          .both = form_.both};
    if (!streams()) return sink_stream(part, rail.told);
    const std::vector<Request> made = stream_requests(link, sizes_[size_index]);
    Stream stream(link.sends(), clock, made, stream_plan(form_.plan, sizes_[size_index]),
                  stream_aim(link, rail.layout));
    ReceiveQueue* const receives = form_.both && takes() ? &link.receives() : nullptr;
    rail.book.begin_work();
    if (!count_in(rail.slots, stream, receives, clock))
      return tl::unexpected(link.waiting().failure());
    rail.book.end_work(static_cast<double>(stream.completed()));
    rail.told.mutable_counts()->Assign(rail.slots.counts.begin(), rail.slots.counts.end());
    return end_stream(part, stream, rail.told);
  }

  // Link by link; the error names the link.
  [[nodiscard]] Status verify(std::size_t size_index, const std::vector<PeerStatus>& all) const {
    for (std::size_t i = 0; i < rails_.size(); ++i) {
      const auto number = static_cast<int>(i);
      RG_TRY_OK(rails_[i]->named(
          verify_stream(*rails_[i]->link, rails_[i]->layout,
                        {.size_index = size_index, .rank = rank_, .both = form_.both},
                        all[rank_].links(number), all[1 - rank_].links(number))));
    }
    return {};
  }

  // Link by link, as far as both sides find everything right; the error names the link.
  Status prove(const Context& context, std::size_t size_index) {
    const std::size_t parts = sizes_.size() * rails_.size() * (form_.both ? 2 : 1);
    for (const auto& rail : rails_) {
      const LinkProof proof{.size_index = size_index,
                            .message_bytes = sizes_[size_index],
                            .rank = rank_,
                            .both = form_.both,
                            .receives = rail->layout.target,
                            .share = proof_share(context.params.duration_ns("proof_time"), parts)};
      const auto proved = prove_link(*rail->link, *rail->control, tick_clock(context), proof);
      if (!proved) return rail->named(tl::unexpected(proved.error()));
      if (proved->peer_found_mismatch) return {};
      rail->proved = *proved;
    }
    return {};
  }

  // Collects counts and accounts of both ranks, checks that they fit, and makes the points. Rank 0.
  Status report(const Context& context, std::size_t size_index, const std::vector<PeerStatus>& all,
                const std::vector<PeerStatus>& closed) const {
    std::vector<RailFigure> figures;
    const std::size_t count = rails_.front()->slots.counts.size();
    for (std::size_t i = 0; i < rails_.size(); ++i) {
      const auto number = static_cast<int>(i);
      RailFigure figure;
      figure.link = rails_[i]->link.get();
      figure.facts = rails_[i]->facts;
      figure.proved = rails_[i]->proved;
      for (std::size_t rank = 0; rank < 2; ++rank) {
        const auto& counts = all[rank].links(number).counts();
        if (rank == 0 || form_.both) figure.counts.at(rank).assign(counts.begin(), counts.end());
        // A rank that posts nothing reports no slots; any other number is the peer's fault.
        const bool fits = figure.counts.at(rank).size() == (rank == 0 || form_.both ? count : 0);
        if (!fits || number >= closed[rank].accounts_size())
          return fail(Code::kInternal, fmt::format("rank {}: reports other slots or links", rank));
        figure.accounts.at(rank) = closed[rank].accounts(number);
      }
      figures.push_back(std::move(figure));
    }
    std::vector<HostCostWords> host_costs;
    if (host_cost_.is_wanted())
      for (const PeerStatus& end : closed) host_costs.push_back(end.host_cost());
    const SlotForm slots{
        .slot_seconds = tick_clock(context).to_ns(rails_.front()->slots.slot_ticks) / 1e9,
        .message_bytes = sizes_[size_index],
        .group = stream_plan(form_.plan, sizes_[size_index]).signal_every};
    return report_rails(context, figures,
                        {.slots = slots,
                         .both = form_.both,
                         .precision = context.params.number("precision"),
                         .verified = context.params.boolean("verify"),
                         .threads = threads_,
                         .uncertainty_ns = uncertainty_ns_,
                         .host_costs = std::move(host_costs)});
  }

  Verb verb_;
  std::vector<std::string> devices_;
  // For each pair of ports, each with a link of its own.
  std::size_t threads_ = 1;
  // Parallel to rails_.
  std::vector<RailPair> pairs_;
  StreamForm form_;
  // Shared by all links except for GPU and address.
  Link::Options options_;
  std::vector<std::uint64_t> sizes_;
  std::vector<std::unique_ptr<Rail>> rails_;
  HostCostMeter host_cost_{false};  // of all links together
  // Half the shortest round trip of the clocks' comparison; 0 in one direction.
  double uncertainty_ns_ = 0;
  std::uint32_t rank_ = 0;
};

}  // namespace

std::unique_ptr<Kernel> make_rails(Verb verb) { return std::make_unique<Rails>(verb); }

}  // namespace railgauge::verbs
