// Bytes of a TCP connection before gRPC has it: a ClientHello or a preface, then HTTP/2 frames of
// both sides. The first byte chooses the sizes of the portions; each portion's first bit says who
// sends it.
// Properties: a beginning is judged the same however it grows; frames do not depend on portions;
// the guard keeps within its bounds; no error holds a control character.
#include <algorithm>
#include <array>
#include <vector>

#include "controller/listen/first_bytes.h"
#include "controller/relay/frame_guard.h"
#include "deploy/fuzz/properties.h"

namespace railgauge::fuzz {
namespace {

using Bytes = std::span<const std::uint8_t>;
using relay::FrameGuard;

// More bytes never turn a judged beginning into another one.
void check_growth(Bytes bytes, FirstBytes (*look)(Bytes), std::string_view shown) {
  const Bytes seen = bytes.first(std::min(bytes.size(), kMostFirstBytes));
  const FirstBytes whole = look(seen);
  for (std::size_t size = 0; size < seen.size(); size = size * 2 + 1) {
    const FirstBytes part = look(seen.first(size));
    FUZZ_CHECK(part == FirstBytes::kIncomplete || part == whole, shown);
  }
}

struct Portion {
  bool is_servers = false;
  Bytes bytes{};
};

struct Outcome {
  bool refused = false;
  std::uint64_t work = 0;
  std::size_t open = 0;
  bool operator==(const Outcome&) const = default;
};

// Runs all portions through one guard, each in pieces of at most `piece` bytes.
Outcome run(const std::vector<Portion>& portions, std::size_t piece, std::string_view shown) {
  constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  FrameGuard guard;
  Outcome outcome;
  const Bytes preface(reinterpret_cast<const std::uint8_t*>(kPreface.data()), kPreface.size());
  FUZZ_CHECK(guard.from_client(preface).value_or(1) == 0, shown);
  for (const Portion& portion : portions)
    for (std::size_t at = 0; at < portion.bytes.size(); at += piece) {
      const Bytes some = portion.bytes.subspan(at, std::min(piece, portion.bytes.size() - at));
      if (portion.is_servers) {
        guard.from_server(some);
        continue;
      }
      const auto work = guard.from_client(some);
      check_error(work);
      outcome.refused = !work;
      if (!work) return {.refused = true};
      outcome.work += *work;
      FUZZ_CHECK(guard.open_streams() <= FrameGuard::kMostOpenStreams, shown);
    }
  outcome.open = guard.open_streams();
  return outcome;
}

}  // namespace
}  // namespace railgauge::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace railgauge::fuzz;
  const std::string_view shown(reinterpret_cast<const char*>(data), size);
  if (size < 2) return 0;
  const Bytes all(data, size);
  check_growth(all, railgauge::look_at_client_hello, shown);
  check_growth(all, railgauge::look_at_preface, shown);
  FrameGuard stranger;
  check_error(stranger.from_client(all));
  std::vector<Portion> portions;
  const std::size_t step = 1 + all[0];
  for (std::size_t at = 1; at < size; at += step) {
    const bool is_servers = (all[at] & 0x80U) != 0;
    const std::size_t from = at + 1;
    if (from < size)
      portions.push_back({is_servers, all.subspan(from, std::min(step - 1, size - from))});
  }
  // A single portion of the client's is not interrupted by the server, whose frames end streams.
  const Outcome whole = run(portions, size, shown);
  FUZZ_CHECK(run(portions, 1, shown) == whole, shown);
  FUZZ_CHECK(run(portions, 7, shown) == whole, shown);
  return 0;
}
