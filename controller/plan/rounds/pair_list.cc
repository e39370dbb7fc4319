// Parser of lists of pairs. pair_rounds.h declares it.
#include <map>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "controller/plan/rounds/pair_rounds.h"
#include "kernels/core/text/lines.h"
#include "kernels/core/text/text.h"
#include "kernels/core/text/units.h"

namespace railgauge::plan {
namespace {

// Bound of a round's number in a list.
constexpr std::int64_t kMaxRoundNumber = 1'000'000'000;

// Rounds by number, and the pairs and nodes read so far.
struct Reader {
  std::unordered_map<std::string_view, std::uint32_t> numbers{};
  std::map<std::int64_t, std::vector<NodePair>> rounds{};
  std::map<std::int64_t, std::set<std::string, std::less<>>> seen{};
  std::set<NodePair> all{};
  std::size_t left_out = 0;

  // Takes the words of one line. Returns the fault, or "" where there is none.
  std::string take(const std::vector<std::string_view>& words) {
    if (words.size() != 3) return "must be ROUND NODE NODE";
    const auto round = parse_integer(words[0]);
    if (!round || *round < 0 || *round > kMaxRoundNumber)
      return fmt::format("{} is no round's number, from 0", in_quotes(words[0]));
    for (const std::string_view name : {words[1], words[2]})
      if (!seen[*round].emplace(name).second)
        return fmt::format("{} is in round {} already", in_quotes(name), *round);
    const auto a = numbers.find(words[1]);
    const auto b = numbers.find(words[2]);
    if (a == numbers.end() || b == numbers.end()) {
      ++left_out;
      return "";
    }
    const NodePair pair = std::minmax(a->second, b->second);
    if (!all.insert(pair).second) return "this pair is in the list already";
    rounds[*round].push_back(pair);
    return "";
  }
};

}  // namespace

// The first fault ends the reading: a list is made by a program.
Result<ListedPairs> parse_pair_list(std::string_view text, std::span<const std::string> nodes) {
  Reader reader;
  for (std::uint32_t node = 0; node < nodes.size(); ++node) reader.numbers[nodes[node]] = node;
  std::size_t number = 0;
  for (const std::string_view line : lines_of(text)) {
    ++number;
    const auto words = words_of(without_comment(line));
    if (words.empty()) continue;
    if (const std::string problem = reader.take(words); !problem.empty())
      return fail(Code::kInvalidArgument,
                  fmt::format("list of pairs, line {}: {}", number, problem));
  }
  ListedPairs listed{.rounds = {}, .left_out = reader.left_out};
  for (auto& [round, pairs] : reader.rounds) listed.rounds.push_back(std::move(pairs));
  return listed;
}

}  // namespace railgauge::plan
