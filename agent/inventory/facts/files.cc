#include "agent/inventory/facts/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <fstream>

#include "kernels/core/base/fd.h"
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

std::string small_file(const std::string& path, std::size_t most, int flags) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | flags));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return "";
  std::string text(most, '\0');
  std::size_t size = 0;
  while (size < most) {
    const ssize_t got = ::read(file.get(), text.data() + size, most - size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return text;
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
