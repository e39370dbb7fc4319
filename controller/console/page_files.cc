#include "controller/console/page_files.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace railgauge::console {
namespace {

constexpr std::string_view kAssets = "/assets/";
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kTypes{{
    {".html", "text/html; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".svg", "image/svg+xml"},
    {".txt", "text/plain; charset=utf-8"},
}};

std::string_view type_of_file(const std::filesystem::path& path) {
  for (const auto& [extension, type] : kTypes)
    if (path.extension() == extension) return type;
  return "";
}

}  // namespace

PageFiles read_page_files(const std::string& folder) {
  PageFiles files;
  if (folder.empty()) return files;
  std::size_t bytes = 0;
  std::error_code error;
  std::filesystem::recursive_directory_iterator each(folder, error);
  for (; !error && each != std::filesystem::recursive_directory_iterator(); each.increment(error)) {
    const std::string_view type = type_of_file(each->path());
    if (type.empty() || !each->is_regular_file(error) || files.size() >= kMostPageFiles) continue;
    std::ifstream file(each->path(), std::ios::binary);
    std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    if (!file || bytes + text.size() > kMostPageBytes) continue;
    bytes += text.size();
    files["/" + std::filesystem::relative(each->path(), folder, error).generic_string()] = {
        .type = std::string(type), .text = std::move(text)};
  }
  return files;
}

PageFiles with_assets_in(PageFiles files, const std::string& name) {
  PageFiles renamed;
  for (auto& [path, file] : files) {
    if (file.type.starts_with("text/html"))
      for (std::size_t at = file.text.find(kAssets); at != std::string::npos;
           at = file.text.find(kAssets, at + name.size()))
        file.text.replace(at, kAssets.size(), "/" + name + "/");
    const bool is_asset = path.starts_with(kAssets);
    renamed[is_asset ? fmt::format("/{}/{}", name, path.substr(kAssets.size())) : path] =
        std::move(file);
  }
  return renamed;
}

}  // namespace railgauge::console
