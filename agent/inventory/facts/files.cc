#include "agent/inventory/facts/files.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <fstream>

#include "kernels/core/text/text.h"

namespace railgauge::agent {
namespace {
namespace fs = std::filesystem;
}  // namespace

std::string line_of(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back())) != 0)
    line.pop_back();
  return valid_utf8(line);
}

std::string link_name(const fs::path& link) {
  std::error_code ignored;
  const fs::path target = fs::read_symlink(link, ignored);
  return target.filename().string();
}

std::vector<std::string> names_in(const fs::path& folder, std::size_t most) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (names.size() == most) break;
    names.push_back(it->path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

std::uint32_t numa_node_plus_one(const fs::path& device) {
  const std::string text = line_of(device / "numa_node");
  int node = -1;
  std::from_chars(text.data(), text.data() + text.size(), node);
  return node < 0 ? 0 : static_cast<std::uint32_t>(node) + 1;
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

bool is_pci_address(const std::string& name) {
  const std::size_t domain = name.find(':');
  return domain != std::string::npos && domain >= 4 && name.size() == domain + 8 &&
         name[domain + 3] == ':' && name[domain + 6] == '.';
}

}  // namespace railgauge::agent
