// events
#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controller/cli/input/inputs.h"
#include "controller/cli/input/session.h"
#include "controller/cli/render/csv.h"
#include "controller/cli/render/table.h"
#include "controller/cli/verbs/commands.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/text/fold.h"
#include "kernels/core/text/json.h"
#include "kernels/core/text/text.h"

namespace railgauge::cli {
namespace {

using namespace railgauge::api;

constexpr std::uint32_t kDefaultEvents = 1'000;
constexpr std::uint32_t kFollowedAtOnce = 1'000;
constexpr double kFollowSeconds = 1;

Result<EventsRequest> events_request(const Arguments& arguments) {
  EventsRequest request;
  if (const auto since = RG_TRY(time_of(arguments, "since")))
    request.set_since_unix_seconds(*since);
  request.set_kinds(arguments.value("kind"));
  request.set_node_set(RG_TRY(node_set_of(arguments)));
  request.set_run_id(arguments.value("run"));
  request.set_limit(RG_TRY(count_of(arguments, "limit", kDefaultEvents)));
  return request;
}

// Those of one kind that differ in names and numbers alone are a row, at the place of the newest.
Rows folded_rows(const EventList& list) {
  std::map<std::pair<std::string, std::string>, std::vector<const Event*>> alike;
  for (const Event& event : list.events()) alike[{event.kind(), event.run_id()}].push_back(&event);
  std::map<double, Row, std::greater<>> rows;  // by the newest event
  for (const auto& [key, events] : alike) {
    std::vector<std::string> texts;
    std::vector<std::string> names;
    for (const Event* event : events) {
      texts.push_back(event->text());
      if (event->has_node()) names.push_back(event->node());
    }
    for (const TextGroup& group : group_texts(texts, names)) {
      std::vector<std::string> nodes;
      for (const std::size_t member : group.members)
        if (events[member]->has_node()) nodes.push_back(events[member]->node());
      const Event& newest = *events[group.members.front()];
      const std::size_t count = group.members.size();
      rows.emplace(newest.event_id(),
                   Row{newest.at(), count > 1 ? std::to_string(count) : "", newest.kind(),
                       fold_names(nodes), newest.run_id(), group.text});
    }
  }
  Rows newest_first;
  for (auto& [id, row] : rows) newest_first.push_back(std::move(row));
  return newest_first;
}

std::string none_text(const EventList& list) {
  if (list.kinds().empty()) return "no such event";
  return fmt::format("no such event; there are {}", fmt::join(list.kinds(), ", "));
}

// Errors: kInvalidArgument for a word of --kind that no stored kind has, where one is near it.
Status check_kinds(const std::string& given, const EventList& list) {
  std::vector<std::string> known;
  for (const std::string& kind : list.kinds()) {
    known.push_back(kind);
    for (const std::string_view word : split(kind, '_')) known.emplace_back(word);
  }
  for (const std::string_view word : split(given, ',')) {
    if (std::ranges::find(known, word) != known.end()) continue;
    // A kind that is only not stored yet is near none of them.
    if (const std::string hint = did_you_mean(word, known); !hint.empty())
      return fail(Code::kInvalidArgument,
                  fmt::format("--kind: no event has {}, there are {}{}", in_quotes(word),
                              fmt::join(list.kinds(), ", "), hint));
  }
  return {};
}

// Prints events as they come, until Ctrl-C.
class EventFollower {
 public:
  EventFollower(Session& session, EventsRequest request)
      : session_(session),
        request_(std::move(request)),
        printer_(session.output, csv_header(*Event::descriptor()), "\"events\"") {}

  Result<int> follow() {
    Result<int> code = follow_events();
    if (!code && code.error().code == Code::kCancelled) code = kExitInterrupted;
    if (session_.output.format == Format::kTable)
      session_.output.out.flush();
    else
      printer_.end();
    return code;
  }

 private:
  Result<int> follow_events() {
    // The newest ones first, in the order of time; then what comes.
    const EventList begin = RG_TRY(call(session_, rpc::kListEvents, request_));
    for (int i = begin.events_size(); i-- > 0;) print(begin.events(i));
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
    for (const Event& event : more->events()) print(event);
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

  void print(const Event& event) {
    if (session_.output.format != Format::kTable) {
      printer_.print([&] { return csv_row(event); },
                     [&] { return to_json(event, JsonLayout::kCompact); });
      return;
    }
    session_.output.out << line_of(
        fmt::format("{}  {}  {}", event.at(), event.kind(), event.text()));
  }

  Session& session_;
  EventsRequest request_;
  RowPrinter printer_;
  bool is_away_ = false;
};

}  // namespace

// The machine formats have every event; the table folds equal ones.
Result<int> list_events(Session& session, const Arguments& arguments) {
  const EventsRequest request = RG_TRY(events_request(arguments));
  if (arguments.has("follow")) return EventFollower(session, request).follow();
  const EventList list = RG_TRY(call(session, rpc::kListEvents, request));
  const Output& output = session.output;
  if (list.events().empty()) RG_TRY_OK(check_kinds(request.kinds(), list));
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
