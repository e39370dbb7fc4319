// events
#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/api/event_kinds.h"
#include "controller/cli/input/inputs.h"
#include "controller/cli/input/session.h"
#include "controller/cli/render/csv.h"
#include "controller/cli/render/table.h"
#include "controller/cli/verbs/commands.h"
#include "controller/cli/verbs/completion.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/text/fold.h"
#include "kernels/core/text/json.h"
#include "kernels/core/text/lines.h"
#include "kernels/core/text/text.h"

namespace railgauge::cli {
namespace {

using namespace railgauge::api;

constexpr std::uint32_t kDefaultEvents = 1'000;
constexpr std::uint32_t kFollowedAtOnce = 1'000;
constexpr double kFollowSeconds = 1;

// People say so; the events of links are of their counters.
bool is_of_links(std::string_view word) { return word == "link" || word == "flap"; }

// The kinds that the controller knows, for the words of --kind.
std::string asked_kinds(const Arguments& arguments) {
  const std::string given = arguments.value("kind");
  std::vector<std::string> kinds;
  for (const std::string_view word : split(given, ','))
    kinds.emplace_back(is_of_links(word) ? "watch_counter" : word);
  return fmt::format("{}", fmt::join(kinds, ","));
}

// Leaves out counters of other things than links, where links alone were asked for.
class LinkFilter {
 public:
  explicit LinkFilter(const Arguments& arguments) {
    const std::string given = arguments.value("kind");
    for (const std::string_view word : split(given, ',')) {
      wants_links_ = wants_links_ || is_of_links(word);
      wants_counters_ =
          wants_counters_ || word == "counter" || word == "watch" || word == "watch_counter";
    }
  }
  [[nodiscard]] bool leaves_out(const Event& event) const {
    if (!wants_links_ || wants_counters_ || event.kind() != "watch_counter") return false;
    return std::ranges::none_of(words_of(kLinkCounters), [&](std::string_view counter) {
      return event.text().find(counter) != std::string::npos;
    });
  }
  void apply(EventList& list) const {
    auto& events = *list.mutable_events();
    events.erase(std::remove_if(events.begin(), events.end(),
                                [&](const Event& event) { return leaves_out(event); }),
                 events.end());
  }

 private:
  bool wants_links_ = false;
  bool wants_counters_ = false;
};

Result<EventsRequest> events_request(Session& session, const Arguments& arguments) {
  EventsRequest request;
  if (const auto since = RG_TRY(time_of(session, arguments, "since")))
    request.set_since_unix_seconds(*since);
  request.set_kinds(asked_kinds(arguments));
  request.set_node_set(RG_TRY(node_set_of(arguments)));
  request.set_run_id(arguments.value("run"));
  request.set_limit(RG_TRY(count_of(arguments, "limit", kDefaultEvents)));
  return request;
}

// Events of one kind and run that differ in names and numbers alone.
struct LikeEvents {
  const Event* newest = nullptr;  // of the list, which outlives it
  std::size_t count = 0;
  std::vector<std::string> nodes{};
  std::string text{};
};

// In the order of their newest events, the oldest first.
std::vector<LikeEvents> like_events(const EventList& list) {
  std::map<std::pair<std::string, std::string>, std::vector<const Event*>> alike;
  for (const Event& event : list.events()) alike[{event.kind(), event.run_id()}].push_back(&event);
  std::map<double, LikeEvents> groups;  // by the newest event
  for (const auto& [key, events] : alike) {
    std::vector<std::string> texts;
    std::vector<std::string> names;
    for (const Event* event : events) {
      texts.push_back(event->text());
      if (event->has_node()) names.push_back(event->node());
    }
    for (const TextGroup& group : group_texts(texts, names)) {
      LikeEvents like{.count = group.members.size(), .text = group.text};
      for (const std::size_t member : group.members) {
        const Event* event = events[member];
        if (event->has_node()) like.nodes.push_back(event->node());
        if (like.newest == nullptr || event->event_id() > like.newest->event_id())
          like.newest = event;
      }
      groups.emplace(like.newest->event_id(), std::move(like));
    }
  }
  std::vector<LikeEvents> oldest_first;
  for (auto& [id, like] : groups) oldest_first.push_back(std::move(like));
  return oldest_first;
}

// A row for like ones, the newest first.
Rows folded_rows(const EventList& list) {
  Rows rows;
  const std::vector<LikeEvents> groups = like_events(list);
  for (auto like = groups.rbegin(); like != groups.rend(); ++like)
    rows.push_back({like->newest->at(), like->count > 1 ? std::to_string(like->count) : "",
                    like->newest->kind(), fold_names(like->nodes), like->newest->run_id(),
                    like->text});
  return rows;
}

std::string none_text(const EventList& list) {
  if (list.kinds().empty()) return "no such event";
  return fmt::format("no such event; there are {}", fmt::join(list.kinds(), ", "));
}

// Errors: kInvalidArgument for a word of --kind that is of no kind, known here or stored there.
Status check_kinds(const std::string& given, const EventList& list) {
  std::vector<std::string> known{"link", "flap"};
  const auto add = [&](std::string_view kind) {
    known.emplace_back(kind);
    for (const std::string_view word : split(kind, '_')) known.emplace_back(word);
  };
  for (const std::string_view kind : words_of(kEventKinds)) add(kind);
  for (const std::string& kind : list.kinds()) add(kind);
  for (const std::string_view word : split(given, ',')) {
    if (word.empty() || std::ranges::find(known, word) != known.end()) continue;
    const std::string hint = did_you_mean(word, known);
    return fail(
        Code::kInvalidArgument,
        fmt::format("--kind: no event is of kind {}{}", in_quotes(word),
                    hint.empty() ? "; stack, xid, link, node and run are words of some" : hint));
  }
  return {};
}

// Prints events as they come, until Ctrl-C.
class EventFollower {
 public:
  EventFollower(Session& session, const Arguments& arguments, EventsRequest request)
      : session_(session),
        links_(arguments),
        kinds_(arguments.value("kind")),
        request_(std::move(request)) {}

  Result<int> follow() {
    Result<int> code = follow_events();
    if (!code && code.error().code == Code::kCancelled) code = kExitInterrupted;
    if (session_.output.format == Format::kTable)
      session_.output.out.flush();
    else if (printer_)
      printer_->end();
    return code;
  }

 private:
  Result<int> follow_events() {
    // The newest ones first, in the order of time; then what comes.
    const EventList begin = RG_TRY(call(session_, rpc::kListEvents, request_));
    const Output& output = session_.output;
    if (output.format == Format::kTable)
      output.out << take_mark(output);  // first, since the end may never be read
    else
      printer_.emplace(output, csv_header(*Event::descriptor()), "\"events\"");
    if (begin.events().empty()) RG_TRY_OK(check_kinds(kinds_, begin));
    EventList oldest_first = begin;
    std::reverse(oldest_first.mutable_events()->begin(), oldest_first.mutable_events()->end());
    print(std::move(oldest_first));
    move_on(begin, begin.events().empty() ? 0 : begin.events(0).event_id());
    request_.set_limit(kFollowedAtOnce);
    while (true) {
      session_.output.out.flush();
      if (!session_.output.out.good()) return kExitPassed;  // its reader is gone, as of `| head`
      if (session_.interrupts.wait_beyond(0, kFollowSeconds))
        return session_.interrupts.terminated() ? kExitTerminated : kExitInterrupted;
      RG_TRY_OK(print_new());
    }
  }

  // A controller that is away may be back at the next look: what happens meanwhile is not lost.
  Status print_new() {
    const auto more = call(session_, rpc::kListEvents, request_);
    if (!more && more.error().code == Code::kCancelled) return {};  // the wait ends the loop
    if (!more && more.error().code != Code::kUnavailable &&
        more.error().code != Code::kDeadlineExceeded)
      return tl::unexpected(more.error());
    if (!more) {
      if (!is_away_) print_notice(session_.output, more.error().message + "; still trying");
      is_away_ = true;
      return {};
    }
    if (is_away_) print_notice(session_.output, "the controller answers again");
    is_away_ = false;
    print(*more);
    const double last = more->events().empty() ? 0 : more->events().rbegin()->event_id();
    if (more->events_size() < static_cast<int>(kFollowedAtOnce))
      move_on(*more, last);
    else
      request_.set_after_event_id(last);  // there may be more of them
    return {};
  }

  // The next look begins behind all that was seen: what was stored before the answer's newest
  // event is not looked through again, and what came while it was made is not printed again.
  void move_on(const EventList& answer, double last_printed) {
    request_.set_after_event_id(
        std::max({request_.after_event_id(), answer.newest_event_id(), last_printed}));
  }

  // The events of one look, the oldest first; as text, like ones are a line with their number.
  void print(EventList list) {
    links_.apply(list);
    if (session_.output.format != Format::kTable) {
      for (const Event& event : list.events())
        printer_->print([&] { return csv_row(event); },
                        [&] { return to_json(event, JsonLayout::kCompact); });
      return;
    }
    for (const LikeEvents& like : like_events(list))
      session_.output.out << line_of(
          fmt::format("{}  {}  {}{}", like.newest->at(), like.newest->kind(), like.text,
                      like.count > 1 ? fmt::format(" ({} events)", like.count) : ""));
  }

  Session& session_;
  LinkFilter links_;
  std::string kinds_;
  EventsRequest request_;
  std::optional<RowPrinter> printer_;  // begins its document with the first answer
  bool is_away_ = false;
};

}  // namespace

// The machine formats have every event; the table folds equal ones.
Result<int> list_events(Session& session, const Arguments& arguments) {
  const EventsRequest request = RG_TRY(events_request(session, arguments));
  if (arguments.has("follow")) return EventFollower(session, arguments, request).follow();
  EventList list = RG_TRY(call(session, rpc::kListEvents, request));
  const Output& output = session.output;
  if (list.events().empty()) {
    RG_TRY_OK(check_kinds(arguments.value("kind"), list));
    RG_TRY_OK(check_run(session, arguments.value("run")));
  }
  LinkFilter(arguments).apply(list);
  if (print_document(output, list, "events")) return kExitPassed;
  if (list.events().empty()) {
    print_notice(output, none_text(list));
    return kExitPassed;
  }
  output.out << render_short_table(
      "NEWEST|COUNT>|KIND|NODES|RUN|WHAT", folded_rows(list), output.colour,
      {.remedy = "--since, --kind and --nodes choose; --full shows them"});
  return kExitPassed;
}

}  // namespace railgauge::cli
