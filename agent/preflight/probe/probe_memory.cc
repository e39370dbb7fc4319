#include "agent/preflight/probe/probe_memory.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <optional>
#include <thread>

#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>

#include "agent/inventory/facts/files.h"
#include "agent/os/atomic_file.h"
#include "kernels/core/base/fd.h"
#include "kernels/core/base/probe.pb.h"
#include "kernels/core/text/json.h"
#include "kernels/core/text/text.h"

namespace railgauge::agent {
namespace {

constexpr std::uint32_t kSchemaVersion = 1;
constexpr std::size_t kMaxNameBytes = 64;   // of a GPU, a NIC, a path
constexpr std::size_t kMaxTextBytes = 300;  // of an answer's text
constexpr int kLockTries = 10;
constexpr std::chrono::milliseconds kLockPause{20};

using State = ProbeAnswer::State;
constexpr std::array kStateWords{std::pair{State::kRegistered, "registered"},
                                 std::pair{State::kRefused, "refused"},
                                 std::pair{State::kError, "error"}};

// The entry for a later preflight. A busy GPU and an untried pair show nothing about GPUDirect.
const char* word_of(State state) {
  const auto found =
      std::ranges::find(kStateWords, state, [](const auto& row) { return row.first; });
  return found == kStateWords.end() ? nullptr : found->second;
}

std::optional<State> state_of(std::string_view word) {
  const auto found =
      std::ranges::find(kStateWords, word, [](const auto& row) { return row.second; });
  if (found == kStateWords.end()) return std::nullopt;
  return found->first;
}

std::string cut(const std::string& text, std::size_t most) {
  return valid_utf8(text.substr(0, most));
}

bool is_believable(double at_unix_seconds, double now_unix_seconds) {
  return std::isfinite(at_unix_seconds) && at_unix_seconds > 0 &&
         at_unix_seconds <= now_unix_seconds + kClockSlackSeconds;
}

// Locks the folder, since two processes may read, add to and replace the file at once. Released
// with the descriptor.
Result<Fd> lock(const std::string& folder) {
  Fd locked(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!locked)
    return fail(Code::kPermissionDenied, fmt::format("{}: open: {}", folder, std::strerror(errno)));
  for (int i = 0; i < kLockTries; ++i) {
    if (::flock(locked.get(), LOCK_EX | LOCK_NB) == 0) return locked;
    std::this_thread::sleep_for(kLockPause);
  }
  return fail(Code::kUnavailable, fmt::format("{}: lock: another process holds it", folder));
}

}  // namespace

std::string probe_file_text(std::span<const ProbeAnswer> answers) {
  GpuDirectAnswers file;
  file.set_schema_version(kSchemaVersion);
  for (const ProbeAnswer& answer : answers) {
    const char* word = word_of(answer.state);
    if (word == nullptr) continue;
    GpuDirectAnswer& kept = *file.add_answers();
    kept.set_unix_seconds(answer.at_unix_seconds);
    GpuDirectProbe& probe = *kept.mutable_probe();
    probe.set_gpu(cut(answer.gpu, kMaxNameBytes));
    probe.set_nic(cut(answer.nic, kMaxNameBytes));
    probe.set_state(word);
    probe.set_path(cut(answer.path, kMaxNameBytes));
    probe.set_text(cut(answer.text, kMaxTextBytes));
    probe.set_synthetic(answer.is_synthetic);
  }
  return to_json(file) + "\n";
}

std::vector<ProbeAnswer> parse_probe_file(std::string_view text, double now_unix_seconds) {
  GpuDirectAnswers file;
  // A cut text is no JSON, and a text with unknown fields is foreign.
  if (text.size() > kMaxProbeFileBytes ||
      !google::protobuf::util::JsonStringToMessage(std::string(text), &file).ok() ||
      file.schema_version() != kSchemaVersion ||
      static_cast<std::size_t>(file.answers_size()) > kMaxKeptAnswers)
    return {};
  std::vector<ProbeAnswer> answers;
  for (const GpuDirectAnswer& kept : file.answers()) {
    const GpuDirectProbe& probe = kept.probe();
    const auto state = state_of(probe.state());
    if (!state || probe.gpu().empty() || probe.nic().empty() ||
        !is_believable(kept.unix_seconds(), now_unix_seconds))
      return {};
    answers.push_back({.gpu = probe.gpu(),
                       .nic = probe.nic(),
                       .state = *state,
                       .path = probe.path(),
                       .text = probe.text(),
                       .at_unix_seconds = kept.unix_seconds(),
                       .is_synthetic = probe.synthetic()});
  }
  return answers;
}

ProbeMemory::ProbeMemory(std::string folder, Complain complain)
    : folder_(std::move(folder)), complain_(std::move(complain)) {}

std::vector<ProbeAnswer> ProbeMemory::exchange(std::span<const ProbeAnswer> answers,
                                               double now_unix_seconds) {
  const std::lock_guard held(mutex_);
  learn(now_unix_seconds);
  bool is_new = false;
  for (const ProbeAnswer& answer : answers) {
    if (word_of(answer.state) == nullptr) continue;
    note(answer);
    is_new = true;
  }
  std::vector<ProbeAnswer> earlier;
  for (const ProbeAnswer& answer : answers)
    if (const auto found = last_.find({answer.gpu, answer.nic});
        answer.state == State::kBusy && found != last_.end())
      earlier.push_back(found->second);
  if (is_new && !folder_.empty())
    if (const Status kept = keep(now_unix_seconds); !kept && complain_) complain_(kept.error());
  return earlier;
}

std::vector<ProbeAnswer> ProbeMemory::all(double now_unix_seconds) {
  const std::lock_guard held(mutex_);
  learn(now_unix_seconds);
  return known();
}

// Takes newer answers from the file, which an operator's `railgauge-agent --preflight --probe`
// writes too.
void ProbeMemory::learn(double now_unix_seconds) {
  std::erase_if(last_, [&](const auto& row) {
    return !is_believable(row.second.at_unix_seconds, now_unix_seconds);
  });
  if (folder_.empty()) return;
  for (const ProbeAnswer& answer :
       parse_probe_file(small_file(folder_ + "/" + kProbeFile, kMaxProbeFileBytes + 1, O_NOFOLLOW),
                        now_unix_seconds))
    note(answer);
}

void ProbeMemory::note(const ProbeAnswer& answer) {
  const auto [at, is_new] = last_.try_emplace({answer.gpu, answer.nic}, answer);
  if (!is_new && answer.at_unix_seconds >= at->second.at_unix_seconds) at->second = answer;
  if (last_.size() > kMaxKeptAnswers)
    last_.erase(std::ranges::min_element(
        last_, {}, [](const auto& row) { return row.second.at_unix_seconds; }));
}

std::vector<ProbeAnswer> ProbeMemory::known() const {
  std::vector<ProbeAnswer> answers;
  for (const auto& [key, answer] : last_) answers.push_back(answer);
  return answers;
}

Status ProbeMemory::keep(double now_unix_seconds) {
  const Fd locked = RG_TRY(lock(folder_));
  learn(now_unix_seconds);
  return write_atomically(folder_, kProbeFile, probe_file_text(known()));
}

}  // namespace railgauge::agent
