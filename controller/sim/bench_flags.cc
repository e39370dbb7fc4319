#include "controller/sim/bench_flags.h"

#include <algorithm>
#include <charconv>
#include <thread>

#include <fmt/format.h>

#include "controller/sim/fabric.h"

namespace railgauge::simulator {
namespace {

// Bounds against typing errors, not limits of the model.
constexpr std::uint32_t kMostSeeds = 1'000'000;
constexpr std::uint32_t kMostThreads = 1'024;

// Allowed numbers, both ends included.
struct Range {
  std::uint32_t least = 0;
  std::uint32_t most = 0;
};

// One line: flag, value, act and fault.
Status wrong(const std::string& name, const std::string& value, const std::string& what) {
  return fail(Code::kInvalidArgument, fmt::format("{} {}: read: {}", name, value, what));
}

// Reads one number; the overloads read a list ("-" is an empty one) and a switch.
Status read(const std::string& name, const std::string& value, Range range, std::uint32_t& into) {
  const char* const end = value.data() + value.size();
  const auto [at, error] = std::from_chars(value.data(), end, into);
  if (error == std::errc{} && at == end && into >= range.least && into <= range.most) return {};
  return wrong(name, value, fmt::format("no number from {} to {}", range.least, range.most));
}

// "-" is none.
Status read(const std::string& name, const std::string& value, Range range,
            std::vector<std::uint32_t>& into) {
  into.clear();
  if (value == "-") return {};
  for (std::size_t begin = 0; begin <= value.size();) {
    const std::size_t end = std::min(value.find(',', begin), value.size());
    RG_TRY_OK(read(name, value.substr(begin, end - begin), range, into.emplace_back()));
    begin = end + 1;
  }
  return {};
}

// A switch is 0 or 1.
Status read(const std::string& name, const std::string& value, bool& into) {
  if (value != "0" && value != "1") return wrong(name, value, "neither 0 nor 1");
  into = value == "1";
  return {};
}

// Stores the value of one flag. An unknown name is an error.
Status take(BenchFlags& flags, const std::string& name, const std::string& value) {
  constexpr auto kNodes = static_cast<std::uint32_t>(localise::kMaxNodes);
  // At least 32 nodes, which are two leaves.
  if (name == "--nodes") return read(name, value, {32, kNodes}, flags.nodes);
  if (name == "--kinds") return read(name, value, {0, kFaultKinds - 1}, flags.kinds);
  if (name == "--drops") return read(name, value, {1, 99}, flags.drops);
  if (name == "--first-seed") return read(name, value, {0, UINT32_MAX}, flags.first_seed);
  if (name == "--seeds") return read(name, value, {0, kMostSeeds}, flags.seeds);
  if (name == "--rails") return read(name, value, {1, 64}, flags.rails);
  if (name == "--threads") return read(name, value, {1, kMostThreads}, flags.threads);
  if (name == "--usual") return read(name, value, flags.usual);
  if (name == "--quick") return read(name, value, {1, 100}, flags.quick);
  if (name == "--speed") return read(name, value, flags.speed);
  if (name == "--sums") flags.sums = value;
  if (name == "--merge") flags.merge.push_back(value);
  if ((name == "--sums" || name == "--merge") && !value.empty()) return {};
  return wrong(name, value, "no such flag, or no value");
}

}  // namespace

// `speed` depends on other flags where it is not given, so it is set last.
Result<BenchFlags> bench_flags(const std::vector<std::string>& words) {
  BenchFlags flags;
  bool is_speed_asked = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string name = words[i];
    std::string value;
    if (const std::size_t equals = name.find('='); equals != std::string::npos) {
      value = name.substr(equals + 1);
      name.resize(equals);
    } else if (i + 1 < words.size()) {
      value = words[++i];
    }
    is_speed_asked = is_speed_asked || name == "--speed";
    RG_TRY_OK(take(flags, name, value));
  }
  if (!flags.sums.empty() && !flags.merge.empty())
    return fail(Code::kInvalidArgument,
                "--sums and --merge: read: one of them; a merge runs nothing");
  if (!is_speed_asked) flags.speed = flags.sums.empty() && flags.merge.empty();
  if (flags.threads == 0) flags.threads = std::max(1U, std::thread::hardware_concurrency());
  return flags;
}

}  // namespace railgauge::simulator
