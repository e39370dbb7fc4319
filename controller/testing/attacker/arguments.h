// Words of a command line, "--key=value", and of a line of commands, "key=value". For the attacking
// client of deploy/e2e/trust.sh only.
#pragma once

#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace railgauge::attacker {

class Arguments {
 public:
  Arguments() = default;
  explicit Arguments(const std::vector<std::string>& words) {
    for (const std::string& word : words) add(word);
  }
  // The keys of a line; its first word is the caller's.
  explicit Arguments(std::istringstream& line) {
    for (std::string word; line >> word;) add(word);
  }

  [[nodiscard]] bool has(const std::string& key) const { return values_.contains(key); }
  [[nodiscard]] std::string text(const std::string& key, const std::string& other = "") const {
    const auto found = values_.find(key);
    return found == values_.end() ? other : found->second.back();
  }
  [[nodiscard]] std::vector<std::string> texts(const std::string& key) const {
    const auto found = values_.find(key);
    return found == values_.end() ? std::vector<std::string>{} : found->second;
  }
  // A value that is no number reads as 0, as strtod does.
  [[nodiscard]] double number(const std::string& key, double other) const {
    const auto found = values_.find(key);
    return found == values_.end() ? other : std::strtod(found->second.back().c_str(), nullptr);
  }
  [[nodiscard]] int count(const std::string& key, int other) const {
    return static_cast<int>(number(key, other));
  }

 private:
  void add(const std::string& word) {
    const std::size_t from = word.find_first_not_of('-');
    if (from == std::string::npos) return;
    const std::size_t equals = word.find('=', from);
    if (equals == std::string::npos)
      values_[word.substr(from)].emplace_back("1");
    else
      values_[word.substr(from, equals - from)].push_back(word.substr(equals + 1));
  }

  std::map<std::string, std::vector<std::string>> values_;
};

// Prints one line at once: scripts wait for it.
template <class... Values>
void say(fmt::format_string<Values...> format, Values&&... values) {
  fmt::print(format, std::forward<Values>(values)...);
  fmt::print("\n");
  std::fflush(stdout);
}

}  // namespace railgauge::attacker
