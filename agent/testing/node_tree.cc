#include "agent/testing/node_tree.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

namespace railgauge::agent {
namespace {
namespace fs = std::filesystem;

constexpr int kMostNested = 8;
constexpr std::size_t kMostBytes = 1U << 16U;

tl::unexpected<Error> wrong(const std::string& what) { return fail(Code::kInvalidArgument, what); }

Result<std::string> text_of(const std::string& name) {
  std::ifstream file(std::string(NODE_TREES) + "/" + name + ".node");
  if (!file) return wrong(name + ".node: cannot be read");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// key=value, key="value with blanks".
Result<std::map<std::string, std::string>> values_of(const std::string& text) {
  std::map<std::string, std::string> values;
  std::size_t at = text.find_first_not_of(' ');
  while (at != std::string::npos) {
    const std::size_t equals = text.find('=', at);
    if (equals == std::string::npos) return wrong(text.substr(at) + ": no key=value");
    const bool quoted = equals + 1 < text.size() && text[equals + 1] == '"';
    const std::size_t begin = equals + (quoted ? 2 : 1);
    const std::size_t end = std::min(text.find(quoted ? '"' : ' ', begin), text.size());
    values[text.substr(at, equals - at)] = text.substr(begin, end - begin);
    at = text.find_first_not_of(' ', std::min(end + 1, text.size()));
  }
  return values;
}

Result<std::string> filled(const std::string& body,
                           const std::map<std::string, std::string>& values) {
  std::string out;
  std::size_t at = 0;
  while (true) {
    const std::size_t open = body.find("${", at);
    if (open == std::string::npos) return out + body.substr(at);
    const std::size_t close = body.find('}', open);
    if (close == std::string::npos) return wrong("${ without }");
    out += body.substr(at, open - at);
    const std::string key = body.substr(open + 2, close - open - 2);
    const std::size_t colon = key.find(':');
    const auto found = values.find(key.substr(0, colon));
    if (found == values.end() && colon == std::string::npos) return wrong(key + " has no value");
    out += found == values.end() ? key.substr(colon + 1) : found->second;
    at = close + 1;
  }
}

Result<std::size_t> number_of(std::string text) {
  int base = 10;
  if (text.starts_with("0x")) {
    text = text.substr(2);
    base = 16;
  }
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc() || end != text.data() + text.size() || number > kMostBytes)
    return wrong(text + " is no number here");
  return number;
}

// "4096 @0x34 60 @0x60 1000".
Result<std::string> bytes_of(const std::string& text) {
  const std::vector<std::string> words = words_of(text);
  if (words.empty()) return wrong("hex without a size");
  std::string bytes(RG_TRY(number_of(words[0])), '\0');
  std::size_t at = 0;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i][0] == '@') {
      at = RG_TRY(number_of(words[i].substr(1)));
      continue;
    }
    for (std::size_t digit = 0; digit + 1 < words[i].size(); digit += 2) {
      if (at >= bytes.size()) return wrong("hex behind the end");
      bytes[at++] = static_cast<char>(RG_TRY(number_of("0x" + words[i].substr(digit, 2))));
    }
  }
  return bytes;
}

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  fs::remove_all(path);
  std::ofstream(path, std::ios::binary) << text;
}

void link(const fs::path& path, const fs::path& target) {
  fs::create_directories(path.parent_path());
  fs::remove_all(path);
  fs::create_symlink(target, path);
}

Status set_time(const fs::path& path, const std::string& seconds) {
  std::int64_t number = 0;
  std::from_chars(seconds.data(), seconds.data() + seconds.size(), number);
  const timespec time{.tv_sec = number, .tv_nsec = 0};
  const std::array<timespec, 2> both{time, time};
  if (::utimensat(AT_FDCWD, path.c_str(), both.data(), 0) != 0)
    return wrong(path.string() + ": its time cannot be set");
  return {};
}

}  // namespace

NodeTree::NodeTree(const std::string& name) { apply("include " + name + "\n"); }

// Restores permissions, so that the folder can be removed.
NodeTree::~NodeTree() {
  std::error_code ignored;
  for (const std::string& path : refused_) fs::permissions(path, fs::perms::owner_all, ignored);
}

void NodeTree::apply(const std::string& text) {
  const Status done = lay_out(text, "text", 0);
  if (!done) std::fprintf(stderr, "node tree: %s\n", done.error().message.c_str());
  RG_CHECK(done.has_value());
}

Status NodeTree::lay_out(const std::string& text, const std::string& where, int depth) {
  if (depth > kMostNested) return wrong(where + ": too deep");
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const auto at = [&](const Error& error) {
      return wrong(fmt::format("{} line {}: {}", where, number, error.message));
    };
    if (line.starts_with("define ")) {
      std::string& body = templates_[line.substr(7)];
      for (body.clear(); std::getline(lines, line) && line != "end"; ++number) body += line + "\n";
      ++number;
    } else if (line.ends_with(" |") && line.find(' ') == line.size() - 2) {
      std::string body;
      const std::string path = line.substr(0, line.size() - 2);
      for (; lines.peek() == ' ' && std::getline(lines, line); ++number)
        body += line.substr(std::min<std::size_t>(2, line.size())) + "\n";
      write(root_ / path, body);
    } else if (const Status done = one_line(line, depth); !done) {
      return at(done.error());
    }
  }
  return {};
}

Status NodeTree::one_line(const std::string& line, int depth) {
  if (line.empty() || line[0] == '#') return {};
  const std::size_t blank = std::min(line.find(' '), line.size());
  const std::string word = line.substr(0, blank);
  const std::string rest = blank < line.size() ? line.substr(blank + 1) : "";
  if (word == "include") return lay_out(RG_TRY(text_of(rest)), rest, depth + 1);
  if (word == "remove") {
    if (!fs::exists(fs::symlink_status(root_ / rest))) return wrong(rest + ": is not there");
    fs::remove_all(root_ / rest);
    return {};
  }
  if (word == "refuse") {
    if (!fs::exists(root_ / rest)) return wrong(rest + ": is not there");
    using fs::perms;
    fs::permissions(root(), perms::owner_all | perms::group_read | perms::group_exec |
                                perms::others_read | perms::others_exec);
    fs::permissions(root_ / rest, perms::none);
    refused_.push_back(root_ / rest);
    return {};
  }
  if (word != "use") return entry(line);
  const std::size_t end = std::min(rest.find(' '), rest.size());
  const auto found = templates_.find(rest.substr(0, end));
  if (found == templates_.end()) return wrong("there is no template " + rest.substr(0, end));
  const auto values = RG_TRY(values_of(rest.substr(end)));
  return lay_out(RG_TRY(filled(found->second, values)), found->first, depth + 1);
}

Status NodeTree::entry(const std::string& line) {
  const std::size_t blank = line.find(' ');
  if (blank == std::string::npos) return wrong(line + ": says nothing");
  const fs::path path = root_ / line.substr(0, blank);
  const std::size_t next = std::min(line.find(' ', blank + 1), line.size());
  const std::string sign = line.substr(blank + 1, next - blank - 1);
  const std::string rest = next < line.size() ? line.substr(next + 1) : "";
  if (sign == "=") {
    write(path, rest + "\n");
  } else if (sign == "->") {
    link(path, rest);
  } else if (sign == "=>") {
    // As in sysfs, the link ends in the target's name even if the target is a folder above.
    const fs::path target = root_ / rest;
    link(path, target.parent_path().lexically_relative(path.parent_path()) / target.filename());
  } else if (sign == "/") {
    if (!fs::is_directory(path)) fs::remove(path);
    fs::create_directories(path);
  } else if (sign == "@") {
    if (!fs::exists(path)) write(path, "");
    return set_time(path, rest);
  } else if (sign == ":" && rest.starts_with("hex ")) {
    write(path, RG_TRY(bytes_of(rest.substr(4))));
  } else {
    return wrong(sign + ": no such sign");
  }
  return {};
}

std::vector<std::string> NodeTree::names() {
  std::vector<std::string> names;
  for (const auto& file : fs::directory_iterator(NODE_TREES))
    if (const fs::path path = file.path(); path.extension() == ".node" && path.stem() != "common")
      names.push_back(path.stem().string());
  std::ranges::sort(names);
  return names;
}

}  // namespace railgauge::agent
