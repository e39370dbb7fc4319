// Output of libraries and launchers that our ranks run with: NCCL's debug log, MPI's name of
// itself, the output of mpirun. The first byte chooses the reader.
// Properties: facts are bounded and valid text, because protobuf refuses others; they do not depend
// on an unfinished last line; a reason is one line; the final record is one that the store takes;
// what is kept of long output gives the same facts.
#include <sys/wait.h>

#include <map>
#include <set>
#include <vector>

#include "controller/store/ingest/parcel.h"
#include "deploy/fuzz/properties.h"
#include "kernels/core/base/outcome.h"
#include "kernels/launch/ending.h"
#include "kernels/mpi/binding/library_facts.h"
#include "kernels/nccl/communicator/log.h"

namespace railgauge::fuzz {
namespace {

constexpr std::size_t kMostFactBytes = 503;  // 500 and "..."

// Takes the facts of a task.
class Facts final : public Reporter {
 public:
  void point(Point) override {}
  void note(std::string_view, std::string) override {}
  void fact(std::string_view name, std::string value) override {
    FUZZ_CHECK(!value.empty(), name);
    FUZZ_CHECK(valid_utf8(value) == value, value);
    FUZZ_CHECK(value.size() <= kMostFactBytes, value);
    FUZZ_CHECK(value.find('\n') == std::string::npos, value);
    all[std::string(name)] = std::move(value);
  }
  std::map<std::string, std::string> all;
};

std::map<std::string, std::string> facts_of(std::string_view log) {
  Facts facts;
  nccl::report(nccl::parse_log(log), facts);
  return facts.all;
}

void check_nccl_log(std::string_view text) {
  const nccl::LogFacts seen = nccl::parse_log(text);
  FUZZ_CHECK(seen.connections.size() <= 32 && seen.gdr.size() <= 32, text);
  FUZZ_CHECK(seen.choices.size() <= 256, text);
  for (const auto& [kind, count] : seen.connections) FUZZ_CHECK(count > 0, kind);
  for (const std::string& kind : nccl::kinds_of(seen)) FUZZ_CHECK(valid_utf8(kind) == kind, kind);
  const auto kinds = nccl::kinds_of(seen);
  const std::string path = nccl::path_of({kinds.begin(), kinds.end()});
  FUZZ_CHECK(path.size() <= kMostFactBytes && valid_utf8(path) == path, path);
  const auto facts = facts_of(text);
  const std::string_view whole = text.substr(0, text.rfind('\n') + 1);
  FUZZ_CHECK(facts == facts_of(whole), text);
  FUZZ_CHECK(facts == facts_of(std::string(whole) + "NCCL version 9.9"), text);
  // Connections add up: the same log twice has twice as many.
  const nccl::LogFacts twice = nccl::parse_log(std::string(whole) + std::string(whole));
  FUZZ_CHECK(twice.connections.size() == seen.connections.size(), text);
  for (const auto& [kind, count] : seen.connections)
    FUZZ_CHECK(twice.connections.at(kind) == 2 * count, kind);
}

void check_library(std::string_view text) {
  for (const auto& [name, value] : mpi::library_facts(text)) {
    FUZZ_CHECK(value.find('\n') == std::string::npos, value);
    FUZZ_CHECK(name.starts_with("mpi_"), name);
  }
  const std::string component = mpi::component_name(text, "btl");
  FUZZ_CHECK(made_of(component, "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"), component);
  const std::string level = nccl::gdr_level_in_words(std::string(text.substr(0, text.find('\0'))));
  FUZZ_CHECK(level.size() == 3 || level.empty(), level);
}

void check_transports(const std::map<std::string, std::string>& facts) {
  for (const auto& [name, value] : facts) {
    FUZZ_CHECK(!value.empty() && valid_utf8(value) == value, value);
    FUZZ_CHECK(value.find('\n') == std::string::npos, value);
  }
}

// The end of mpirun with this output, as the runner reports it.
void check_launcher(FuzzedDataProvider& input) {
  LauncherEnd end;
  end.name = "mpirun";
  end.wait_status = input.ConsumeIntegralInRange(0, 0xffff);
  end.past_deadline = input.ConsumeBool();
  end.settings = input.ConsumeBool() ? "UCX_TLS=rc OMPI_MCA_pml=ucx UCX_NET_DEVICES=x:1" : "";
  if (input.ConsumeBool()) {
    end.final = Final();
    end.final->set_outcome(
        std::string(input.PickValueInArray({kPassed, kFailed, kCancelledOutcome})));
    if (end.final->outcome() != kPassed) end.final->set_reason("because");
  }
  const auto copies = input.ConsumeIntegralInRange<std::size_t>(1, 3'000);
  const std::string words = input.ConsumeRemainingBytesAsString();
  for (std::size_t i = 0; i < copies && end.words.size() < 200'000; ++i) end.words += words;
  drop_old_lines(end);
  FUZZ_CHECK(end.words.size() <= kMostLauncherWords, "the kept output");
  FUZZ_CHECK(end.warnings.size() + end.transports.size() <= 34U << 10U, "the kept lines");
  check_transports(transport_facts(end));
  const std::string lines = last_lines(end.words);
  FUZZ_CHECK(!has_control_bytes(lines) && valid_utf8(lines) == lines, lines);
  const std::string ignored = ignored_setting(end.words, end.settings);
  FUZZ_CHECK(ignored.empty() || end.settings.find(ignored) != std::string::npos, ignored);
  Record record;
  record.mutable_key()->set_run_id("r1");
  record.mutable_key()->set_task_id("t1");
  record.mutable_key()->set_attempt(1);
  record.set_unix_time_seconds(1.7e9);
  *record.mutable_final() = final_of(end);
  const Final& final = record.final();
  const store::ReadyRecord ready = store::make_ready(record);
  FUZZ_CHECK(!ready.fault, ready.fault.value_or(""));
  FUZZ_CHECK(valid_utf8(final.reason()) == final.reason(), final.reason());
  FUZZ_CHECK(final.reason().find('\n') == std::string::npos, final.reason());
  FUZZ_CHECK(final.outcome() != kPassed || (end.final && end.final->outcome() == kPassed),
             final.outcome());
  FUZZ_CHECK((final.outcome() == kPassed) == final.reason().empty(), final.reason());
}

}  // namespace
}  // namespace railgauge::fuzz

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace railgauge::fuzz;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  FuzzedDataProvider input(data + 1, size - 1);
  if (data[0] == 'N')
    check_nccl_log(text);
  else if (data[0] == 'V')
    check_library(text);
  else
    check_launcher(input);
  return 0;
}
