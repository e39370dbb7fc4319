// Strict reading of one YAML document: a key that the caller does not know is a problem, and every
// problem has a place. Bounded in size, depth and aliases; never throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "controller/plan/suite/yaml_problem.h"

namespace railgauge::plan {

// Bounds of a document; a larger one is refused before a tree is built.
struct YamlBounds {
  std::size_t max_bytes = 1U << 20U;
  // Bound of nodes; an alias counts at each use.
  std::size_t max_nodes = 20'000;
  std::size_t max_depth = 16;
  // Bound of listed problems; further ones are only counted.
  std::size_t max_problems = 50;
};

// Collects problems while a document is read. Not thread safe.
class YamlProblems {
 public:
  YamlProblems(std::string_view file, std::size_t max_listed)
      : file_(file), max_listed_(max_listed) {}
  void add(const YAML::Mark& mark, std::string_view key, std::string message);
  // True when no problem was added.
  [[nodiscard]] bool none() const { return count_ == 0; }
  // Returns the problems in the order of their places; the last one counts the unlisted problems.
  [[nodiscard]] std::vector<YamlProblem> take();

 private:
  std::string file_;
  std::size_t max_listed_;
  std::size_t count_ = 0;
  std::vector<YamlProblem> listed_;
};

// A node and its place in the document. Each reading function adds a problem and returns an empty
// result when the node has another kind, so the reader continues and reports all problems at once.
class YamlValue {
 public:
  YamlValue(const YAML::Node& node, std::string key, YAML::Mark key_mark, YamlProblems& problems)
      : node_(node), key_(std::move(key)), key_mark_(key_mark), problems_(&problems) {}

  [[nodiscard]] bool is_sequence() const { return node_.IsSequence(); }
  [[nodiscard]] bool is_map() const { return node_.IsMap(); }
  // Reports whether a mapping has the key, with a value or without.
  [[nodiscard]] bool has_key(const std::string& name) const;
  // Adds a problem at the place of the value.
  void problem(std::string message) const;
  // Adds a problem at the place of the key before the value.
  void key_problem(std::string message) const;

  // Returns a non-empty scalar without control characters; `wanted` completes "must be ...".
  [[nodiscard]] std::optional<std::string> text(std::string_view wanted,
                                                std::size_t max_bytes = 256) const;
  // Returns the elements of a non-empty sequence, at most `max_elements`.
  [[nodiscard]] std::vector<YamlValue> elements(std::string_view wanted,
                                                std::size_t max_elements) const;
  struct Entry;
  // Returns the entries of a mapping. Keys must be scalars and unique.
  [[nodiscard]] std::vector<Entry> entries(std::string_view wanted) const;

 private:
  YAML::Node node_;
  std::string key_;
  YAML::Mark key_mark_;
  YamlProblems* problems_;
};

// One key of a mapping and its value.
struct YamlValue::Entry {
  std::string name;
  YamlValue value;
};

// A mapping with a fixed set of keys. Problems are an unknown key, with "did you mean" and the list
// of allowed keys, and a missing key of `required`.
class YamlMap {
 public:
  YamlMap(const YamlValue& value, std::span<const std::string> required,
          std::span<const std::string> optional);
  // Returns the value of a key; nullptr when the mapping lacks the key.
  [[nodiscard]] const YamlValue* find(std::string_view name) const;

 private:
  std::vector<YamlValue::Entry> entries_;
};

// Parses `text` and passes its root to `read`. Returns the problems of both; they name `file_name`.
std::vector<YamlProblem> read_yaml(std::string_view text, std::string_view file_name,
                                   const YamlBounds& bounds,
                                   const std::function<void(const YamlValue& root)>& read);

}  // namespace railgauge::plan
