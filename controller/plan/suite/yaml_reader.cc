#include "controller/plan/suite/yaml_reader.h"

#include <algorithm>
#include <exception>
#include <sstream>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/eventhandler.h>

#include "kernels/core/text/text.h"

namespace railgauge::plan {
namespace {

// A key in a path: without the quotes around it.
std::string path_part(std::string_view name) {
  const std::string quoted = in_quotes(name);
  return quoted.substr(1, quoted.size() - 2);
}

// Values are printed on terminals and written to logs, where control characters would act.
bool has_control_character(std::string_view text) {
  return std::ranges::any_of(text, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20U || byte == 0x7fU;
  });
}

// The kind of a node, for "must be ..., is ...".
std::string_view kind_of(const YAML::Node& node) {
  switch (node.Type()) {
    case YAML::NodeType::Scalar:
      return "a single value";
    case YAML::NodeType::Sequence:
      return "a list";
    case YAML::NodeType::Map:
      return "a mapping";
    default:
      return "nothing";
  }
}

// Nodes below, aliases counted at each use; stops counting past the bounds (so a bomb or a cycle of
// aliases costs no more than the bounds).
bool within(const YAML::Node& node, const YamlBounds& bounds, std::size_t depth,
            std::size_t& count) {
  if (++count > bounds.max_nodes || depth > bounds.max_depth) return false;
  if (node.IsSequence())
    for (const auto& element : node)
      if (!within(element, bounds, depth + 1, count)) return false;
  if (node.IsMap())
    for (const auto& entry : node)
      if (!within(entry.first, bounds, depth + 1, count) ||
          !within(entry.second, bounds, depth + 1, count))
        return false;
  return true;
}

// Counts while yaml-cpp parses, so that a text beyond the bounds is refused before a tree is built.
class Counter final : public YAML::EventHandler {
 public:
  explicit Counter(const YamlBounds& bounds) : bounds_(bounds) {}
  [[nodiscard]] const YAML::Mark& document() const { return document_; }

  void OnDocumentStart(const YAML::Mark& mark) override { document_ = mark; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { count(mark); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { count(mark); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                const std::string&) override {
    count(mark);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    enter(mark);
  }
  void OnSequenceEnd() override { --depth_; }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    enter(mark);
  }
  void OnMapEnd() override { --depth_; }

 private:
  void count(const YAML::Mark& mark) {
    if (++count_ > bounds_.max_nodes)
      throw YAML::ParserException(mark, fmt::format("more than {} values", bounds_.max_nodes));
  }
  void enter(const YAML::Mark& mark) {
    count(mark);
    if (++depth_ > bounds_.max_depth)
      throw YAML::ParserException(mark, fmt::format("nested deeper than {}", bounds_.max_depth));
  }

  const YamlBounds& bounds_;
  YAML::Mark document_ = YAML::Mark::null_mark();
  std::size_t count_ = 0;
  std::size_t depth_ = 0;
};

// Parses twice: once to count, once to build the tree.
void parse_and_read(const std::string& text, const YamlBounds& bounds, YamlProblems& problems,
                    const std::function<void(const YamlValue& root)>& read) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  Counter counter(bounds);
  parser.HandleNextDocument(counter);
  // Not LoadAll: yaml-cpp 0.7 gives empty documents without end when a stray bracket follows one.
  if (parser.HandleNextDocument(counter))
    return problems.add(counter.document(), "", "something follows the end of the document");
  const YAML::Node root = YAML::Load(text);
  std::size_t count = 0;
  if (!within(root, bounds, 0, count))
    return problems.add(YAML::Mark::null_mark(), "",
                        fmt::format("more than {} values, aliases counted at each use, or nested "
                                    "deeper than {}",
                                    bounds.max_nodes, bounds.max_depth));
  read(YamlValue(root, "", YAML::Mark::null_mark(), problems));
}

}  // namespace

void YamlProblems::add(const YAML::Mark& mark, std::string_view key, std::string message) {
  if (++count_ > max_listed_) return;
  YamlProblem problem{.file = file_, .key = std::string(key), .message = std::move(message)};
  if (!mark.is_null()) {
    problem.line = static_cast<std::uint32_t>(mark.line) + 1;
    problem.column = static_cast<std::uint32_t>(mark.column) + 1;
  }
  listed_.push_back(std::move(problem));
}

// Sorted by place, since the reader visits keys in its own order.
std::vector<YamlProblem> YamlProblems::take() {
  std::ranges::stable_sort(listed_, [](const YamlProblem& a, const YamlProblem& b) {
    return std::pair(a.line, a.column) < std::pair(b.line, b.column);
  });
  if (count_ > max_listed_)
    listed_.push_back(
        {.file = file_, .message = fmt::format("{} more problems", count_ - max_listed_)});
  return std::move(listed_);
}

void YamlValue::problem(std::string message) const {
  // A value that is absent has no place of its own.
  problems_->add(node_.IsNull() ? key_mark_ : node_.Mark(), key_, std::move(message));
}

void YamlValue::key_problem(std::string message) const {
  problems_->add(key_mark_, key_, std::move(message));
}

bool YamlValue::has_key(const std::string& name) const {
  return std::any_of(node_.begin(), node_.end(), [&](const auto& entry) {
    return entry.first.IsScalar() && entry.first.Scalar() == name;
  });
}

// An empty scalar is a problem: a key without a value is a typing error.
std::optional<std::string> YamlValue::text(std::string_view wanted, std::size_t max_bytes) const {
  if (!node_.IsScalar() || node_.Scalar().empty()) {
    problem(fmt::format("must be {}, is {}", wanted, node_.IsScalar() ? "empty" : kind_of(node_)));
    return std::nullopt;
  }
  if (node_.Scalar().size() > max_bytes) {
    problem(fmt::format("must be {} of at most {} bytes, has {}", wanted, max_bytes,
                        node_.Scalar().size()));
    return std::nullopt;
  }
  if (has_control_character(node_.Scalar())) {
    problem(fmt::format("must be {} on one line, has control characters", wanted));
    return std::nullopt;
  }
  return node_.Scalar();
}

std::vector<YamlValue> YamlValue::elements(std::string_view wanted,
                                           std::size_t max_elements) const {
  std::vector<YamlValue> out;
  if (!node_.IsSequence() || node_.size() == 0 || node_.size() > max_elements) {
    problem(node_.IsSequence()
                ? fmt::format("must be {}: 1 to {}, has {}", wanted, max_elements, node_.size())
                : fmt::format("must be {}, is {}", wanted, kind_of(node_)));
    return out;
  }
  for (const auto& element : node_)
    out.emplace_back(element, fmt::format("{}[{}]", key_, out.size()), element.Mark(), *problems_);
  return out;
}

std::vector<YamlValue::Entry> YamlValue::entries(std::string_view wanted) const {
  std::vector<Entry> out;
  if (!node_.IsMap()) {
    problem(fmt::format("must be {}, is {}", wanted, kind_of(node_)));
    return out;
  }
  std::unordered_set<std::string> seen;
  for (const auto& entry : node_) {
    const YAML::Node& name = entry.first;
    if (!name.IsScalar() || name.Scalar().empty()) {
      problems_->add(name.Mark(), key_, "a key must be a word");
      continue;
    }
    const std::string path = (key_.empty() ? "" : key_ + ".") + path_part(name.Scalar());
    if (!seen.insert(name.Scalar()).second) {
      problems_->add(name.Mark(), path, "is here twice; remove one");
      continue;
    }
    out.push_back(
        {.name = name.Scalar(), .value = YamlValue(entry.second, path, name.Mark(), *problems_)});
  }
  return out;
}

// Unknown keys are dropped after their problem is added, so that they cause no further one.
YamlMap::YamlMap(const YamlValue& value, std::span<const std::string> required,
                 std::span<const std::string> optional) {
  std::vector<std::string> allowed(required.begin(), required.end());
  allowed.insert(allowed.end(), optional.begin(), optional.end());
  const std::string wanted = fmt::format("a mapping with {}", fmt::join(allowed, ", "));
  if (!value.is_map()) {
    value.problem(fmt::format("must be {}", wanted));
    return;
  }
  for (YamlValue::Entry& entry : value.entries(wanted)) {
    if (std::ranges::find(allowed, entry.name) == allowed.end())
      entry.value.key_problem(fmt::format("unknown key; allowed here: {}{}",
                                          fmt::join(allowed, ", "),
                                          did_you_mean(entry.name, allowed)));
    else
      entries_.push_back(std::move(entry));
  }
  for (const std::string& name : required)
    if (!value.has_key(name)) value.problem(fmt::format("lacks the key {}", name));
}

const YamlValue* YamlMap::find(std::string_view name) const {
  const auto found = std::ranges::find(entries_, name, &YamlValue::Entry::name);
  return found == entries_.end() ? nullptr : &found->value;
}

// yaml-cpp throws on faulty text; all exceptions become problems here.
std::vector<YamlProblem> read_yaml(std::string_view text, std::string_view file_name,
                                   const YamlBounds& bounds,
                                   const std::function<void(const YamlValue& root)>& read) {
  YamlProblems problems(file_name, bounds.max_problems);
  if (text.size() > bounds.max_bytes) {
    problems.add(YAML::Mark::null_mark(), "",
                 fmt::format("{} bytes; at most {} are allowed", text.size(), bounds.max_bytes));
    return problems.take();
  }
  // The library's words for it name no place.
  if (const auto at = first_outside_utf8(text)) {
    problems.add(YAML::Mark::null_mark(), "",
                 fmt::format("byte {} is not UTF-8; save the file as UTF-8", *at + 1));
    return problems.take();
  }
  try {
    parse_and_read(std::string(text), bounds, problems, read);
  } catch (const YAML::Exception& error) {
    problems.add(error.mark, "", fmt::format("no YAML: {}", in_quotes(error.msg)));
  } catch (const std::exception& error) {
    problems.add(YAML::Mark::null_mark(), "", fmt::format("no YAML: {}", in_quotes(error.what())));
  }
  return problems.take();
}

std::string describe(const YamlProblem& problem) {
  std::string place = problem.file;
  if (problem.line > 0) place += fmt::format(":{}:{}", problem.line, problem.column);
  return fmt::format("{}: {}{}", place, problem.key.empty() ? "" : problem.key + ": ",
                     problem.message);
}

Error error_of(std::span<const YamlProblem> problems) {
  RG_CHECK(!problems.empty());
  std::string message = describe(problems.front());
  if (problems.size() > 1) message += fmt::format(" (and {} more)", problems.size() - 1);
  return Error{Code::kInvalidArgument, std::move(message)};
}

}  // namespace railgauge::plan
