// Bytes of a runner's pipe: frames, messages, and the final record that the agent writes when they
// are garbage. The first byte chooses the reader, the second the sizes of the portions.
// Properties: frames do not depend on the portions and equal those of a second decoder; a socket
// gives the same frames as a buffer; the agent's final record is always one that the store takes;
// an answer to a step reads back as the payloads that were sent.
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <vector>

#include <google/protobuf/stubs/logging.h>

#include "agent/tasks/final.h"
#include "controller/store/ingest/parcel.h"
#include "deploy/fuzz/properties.h"
#include "kernels/core/base/outcome.h"
#include "kernels/core/group/framing.h"
#include "kernels/core/group/step_answers.h"
#include "kernels/core/group/tcp.h"

namespace railgauge::fuzz {
namespace {

// The frames of a stream, and whether it ended in garbage.
struct Frames {
  std::vector<std::string> bodies;
  bool garbage = false;
  std::size_t pending = 0;
  bool operator==(const Frames&) const = default;
};

// A second decoder, of the whole stream at once, by the words of framing.h.
Frames expected_frames(std::string_view stream) {
  Frames out;
  for (;;) {
    std::size_t length = 0;
    std::size_t used = 0;
    bool whole = false;
    for (; used < stream.size() && used < 4 && !whole; ++used) {
      const auto byte = static_cast<unsigned char>(stream[used]);
      length |= static_cast<std::size_t>(byte & 0x7fU) << (7 * used);
      whole = (byte & 0x80U) == 0;
    }
    out.garbage = whole ? length > kMaxFrameBytes : stream.size() > 4;
    out.pending = stream.size();
    if (!whole || out.garbage || stream.size() - used < length) return out;
    out.bodies.emplace_back(stream.substr(used, length));
    stream.remove_prefix(used + length);
  }
}

// Takes all frames that are there.
void drain(FrameReader& reader, Frames& out) {
  while (!out.garbage) {
    auto next = reader.next();
    check_error(next);
    out.garbage = !next;
    if (!next || !*next) break;
    out.bodies.push_back(std::move(**next));
  }
  out.pending = reader.pending();
}

Frames frames_in_portions(std::string_view stream, std::size_t portion) {
  FrameReader reader;
  Frames out;
  while (!stream.empty() && !out.garbage) {
    const std::size_t size = std::min(stream.size(), portion);
    reader.feed(stream.substr(0, size));
    stream.remove_prefix(size);
    drain(reader, out);
  }
  return out;
}

void check_frames(std::string_view stream, std::size_t portion) {
  const Frames expected = expected_frames(stream);
  const Frames whole = frames_in_portions(stream, stream.size());
  const Frames portions = frames_in_portions(stream, portion);
  FUZZ_CHECK(whole == expected, stream);
  FUZZ_CHECK(portions.bodies == expected.bodies, stream);
  FUZZ_CHECK(portions.garbage == expected.garbage, stream);
  std::size_t bytes = whole.pending;
  for (const std::string& body : whole.bodies) bytes += body.size();
  FUZZ_CHECK(bytes <= stream.size(), stream);
}

void check_socket(std::string_view stream, std::size_t limit) {
  constexpr std::size_t kFits = 64U << 10U;  // into the socket's buffer
  std::array<int, 2> ends{};
  if (stream.size() > kFits ||
      ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return;
  Fd writer(ends[0]);
  FrameStream reader(Fd(ends[1]), TcpAddress{.host = "192.0.2.1", .port = 7479});
  FUZZ_CHECK(
      ::write(writer.get(), stream.data(), stream.size()) == static_cast<ssize_t>(stream.size()),
      stream);
  writer.reset();
  const Frames expected = expected_frames(stream);
  for (std::size_t i = 0;; ++i) {
    const auto next = reader.poll_frame(limit);
    check_error(next);
    if (!next || !*next) {
      const bool over = i < expected.bodies.size() && expected.bodies[i].size() > limit;
      FUZZ_CHECK(over || i == expected.bodies.size(), stream);
      return;
    }
    FUZZ_CHECK(i < expected.bodies.size() && **next == expected.bodies[i], stream);
    FUZZ_CHECK((*next)->size() <= limit, stream);
  }
}

// The end of a runner that wrote `text` to stderr and as its reason.
void check_final(FuzzedDataProvider& input) {
  using agent::Stop;
  agent::Ending ending;
  ending.stop = input.PickValueInArray({Stop::kNone, Stop::kDeadline, Stop::kCancel, Stop::kFault});
  ending.reported_before_stop = input.ConsumeBool();
  ending.ignored_term = input.ConsumeBool();
  ending.deadline_seconds = input.ConsumeFloatingPointInRange(0.0, 1e6);
  ending.stop_outcome = std::string(input.PickValueInArray({kCrashed, kCancelledOutcome}));
  ending.stop_reason = "because " + printable(valid_utf8(input.ConsumeRandomLengthString(100)));
  // Only a runner that the agent ends may survive.
  if (input.ConsumeBool() || ending.stop == Stop::kNone)
    ending.exit = agent::Exit{.wait_status = input.ConsumeIntegralInRange(0, 0xffff)};
  FromRunner message;
  const std::string frame = input.ConsumeRandomLengthString(2'000);
  if (message.ParseFromString(frame) && message.has_record()) {
    ending.last_record = agent::describe_record(message.record());
    FUZZ_CHECK(!ending.last_record.empty(), frame);
    if (message.record().has_final() && !store::make_ready(message.record()).fault)
      ending.reported = message.record().final();
  }
  ending.stderr_tail = input.ConsumeRemainingBytesAsString();
  Record record;
  record.mutable_key()->set_run_id("r1");
  record.mutable_key()->set_task_id("t1");
  record.mutable_key()->set_attempt(1);
  record.set_unix_time_seconds(1.7e9);
  *record.mutable_final() = agent::conclude(ending);
  Record read;
  FUZZ_CHECK(read.ParseFromString(record.SerializeAsString()), ending.stderr_tail);
  const store::ReadyRecord ready = store::make_ready(record);
  FUZZ_CHECK(!ready.fault, ready.fault.value_or(""));
  const Final& final = record.final();
  FUZZ_CHECK(final.outcome() == kPassed || ending.reported || !final.reason().empty(),
             final.outcome());
  FUZZ_CHECK(final.outcome() != kPassed || (ending.reported && ending.exit), final.outcome());
}

void check_steps(FuzzedDataProvider& input) {
  const auto size = input.ConsumeIntegralInRange<std::uint32_t>(1, 40);
  std::vector<GroupStep> said(size);
  for (GroupStep& step : said) {
    step.set_loudness(input.ConsumeIntegralInRange<std::uint32_t>(0, 3));
    step.add_payloads(input.ConsumeRandomLengthString(20));
  }
  const StepAnswers answers = answers_of(7, said);
  const auto full = payloads_of(answers.full, 7, size);
  const auto brief = payloads_of(answers.brief, 7, size);
  FUZZ_CHECK(full && brief && full->size() == size && brief->size() == size, error_of(full));
  for (std::size_t rank = 0; rank < size; ++rank) {
    FUZZ_CHECK((*full)[rank] == said[rank].payloads(0), "full");
    FUZZ_CHECK((*brief)[rank].empty() || (*brief)[rank] == said[rank].payloads(0), "brief");
  }
  FUZZ_CHECK((*brief)[0] == said[0].payloads(0), "rank 0 is always in a brief answer");
  GroupStep foreign;
  if (foreign.ParseFromString(input.ConsumeRemainingBytesAsString())) {
    const auto payloads = payloads_of(foreign, foreign.step(), size);
    check_error(payloads);
    FUZZ_CHECK(!payloads || payloads->size() == size, "a foreign answer");
  }
}

}  // namespace
}  // namespace railgauge::fuzz

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace railgauge;
  const google::protobuf::LogSilencer quiet;  // it logs each string that is no UTF-8
  if (size < 2) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 2, size - 2);
  FuzzedDataProvider input(data + 2, size - 2);
  switch (data[0] % 4) {
    case 0:
      fuzz::check_frames(rest, 1U + data[1]);
      break;
    case 1:
      fuzz::check_socket(rest, 1U + 4U * data[1]);
      break;
    case 2:
      fuzz::check_final(input);
      break;
    default:
      fuzz::check_steps(input);
  }
  return 0;
}
