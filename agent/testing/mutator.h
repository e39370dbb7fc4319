// Random changes of texts from fixed seeds, for the fuzz tests.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace railgauge::agent {

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  std::uint64_t number() { return random_() >> below(64); }
  // Returns the text with up to five random edits.
  std::string mutate(std::string text) {
    for (std::size_t edits = below(6); edits > 0; --edits) edit(text);
    return text;
  }
  // Returns a mutated element of `seeds`.
  std::string pick(const std::vector<std::string>& seeds) {
    return mutate(seeds[below(seeds.size())]);
  }

 private:
  void edit(std::string& text) {
    const std::size_t at = below(text.size() + 1);
    const auto byte = static_cast<char>(random_());
    switch (below(4)) {
      case 0:
        text.insert(at, 1, byte);
        break;
      case 1:
        text.erase(at, 1 + below(8));
        break;
      case 2:
        text += text.substr(at);
        break;
      default:
        if (at < text.size()) text[at] = byte;
    }
  }

  std::mt19937_64 random_;
};

}  // namespace railgauge::agent
