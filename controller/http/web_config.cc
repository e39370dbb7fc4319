#include "controller/http/web_config.h"

#include <openssl/err.h>
#include <sys/stat.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "controller/http/http_server.h"
#include "kernels/core/base/clock.h"
#include "kernels/core/text/text.h"

namespace railgauge::http {
namespace {

constexpr std::size_t kMostFileBytes = std::size_t{256} * 1024;
constexpr std::size_t kMostUsers = 256;

tl::unexpected<Error> wrong(const std::string& message) {
  return fail(Code::kInvalidArgument, message);
}

Result<std::string> read_text(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text(kMostFileBytes + 1, '\0');
  if (file) file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file && !file.eof()) return wrong(fmt::format("{}: read: {}", path, errno_words(errno)));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kMostFileBytes)
    return wrong(fmt::format("{}: larger than {} bytes, its limit", path, kMostFileBytes));
  return text;
}

// One value of the file with its place.
struct Entry {
  std::string place;  // "FILE:LINE: KEY"
  std::string key;
  YAML::Node value;
};

// The entries of a mapping. Refuses keys twice and, unless `allowed` is empty, unknown ones.
Result<std::vector<Entry>> entries_of(const YAML::Node& node, const std::string& file,
                                      const std::string& name,
                                      const std::vector<std::string>& allowed) {
  const auto place = [&](const YAML::Node& at) {
    return fmt::format("{}:{}", file, at.Mark().line + 1);
  };
  if (node.IsNull()) return std::vector<Entry>();
  if (!node.IsMap())
    return wrong(
        fmt::format("{}: {}must be a mapping", place(node), name.empty() ? "" : name + ": "));
  std::vector<Entry> entries;
  std::set<std::string> seen;
  for (const auto& pair : node) {
    const YAML::Node& key = pair.first;
    if (!key.IsScalar()) return wrong(fmt::format("{}: a key must be a text", place(key)));
    const std::string shown =
        name + (name.empty() ? "" : ".") + printable(beginning_of(key.Scalar(), kMaxQuoted));
    if (!allowed.empty() && std::ranges::find(allowed, key.Scalar()) == allowed.end())
      return wrong(fmt::format("{}: {}: unknown key{}; {} are known", place(key), shown,
                               did_you_mean(key.Scalar(), allowed), one_of(allowed)));
    if (!seen.insert(key.Scalar()).second)
      return wrong(fmt::format("{}: {}: given twice", place(key), shown));
    entries.push_back({fmt::format("{}: {}", place(key), shown), key.Scalar(), pair.second});
  }
  return entries;
}

Result<std::string> text_of(const Entry& entry) {
  if (!entry.value.IsScalar() || entry.value.Scalar().empty())
    return wrong(fmt::format("{}: a text is needed", entry.place));
  return entry.value.Scalar();
}

// --- tls_server_config -------------------------------------------------------------------------

constexpr ClientAuth kClientAuths[] = {
    {"NoClientCert", SSL_VERIFY_NONE, false},
    {"RequestClientCert", SSL_VERIFY_PEER, false},
    {"RequireAnyClientCert", SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, false},
    {"VerifyClientCertIfGiven", SSL_VERIFY_PEER, true},
    {"RequireAndVerifyClientCert", SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, true},
};
constexpr std::pair<std::string_view, int> kVersions[] = {{"TLS12", TLS1_2_VERSION},
                                                          {"TLS13", TLS1_3_VERSION}};

// The row of a table by the value's text.
template <class Table, class Name>
auto choice_of(const Table& table, Name name, const Entry& entry)
    -> Result<decltype(&*std::begin(table))> {
  const std::string text = RG_TRY(text_of(entry));
  if (const auto found = std::ranges::find(table, std::string_view(text), name);
      found != std::end(table))
    return &*found;
  std::vector<std::string> names;
  for (const auto& row : table) names.emplace_back(std::invoke(name, row));
  return wrong(
      fmt::format("{}: {} is needed, not {}", entry.place, one_of(names), in_quotes(text)));
}

std::string openssl_words() {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  return reason == nullptr ? "refused" : reason;
}

Result<TlsSettings> read_tls(const Entry& section, const std::string& file) {
  TlsSettings settings{.client_auth = &kClientAuths[0]};
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  const auto entries = RG_TRY(entries_of(section.value, file, section.key,
                                         {"cert_file", "key_file", "client_ca_file",
                                          "client_auth_type", "min_version", "max_version"}));
  for (const Entry& entry : entries) {
    if (entry.key.ends_with("_file")) {
      const std::filesystem::path given = RG_TRY(text_of(entry));
      settings.files[entry.key] = {(given.is_absolute() ? given : folder / given).string(),
                                   entry.place};
    } else if (entry.key == "client_auth_type") {
      settings.client_auth = RG_TRY(choice_of(kClientAuths, &ClientAuth::name, entry));
      settings.client_auth_place = entry.place;
    } else {
      const int version =
          RG_TRY(choice_of(kVersions, &std::pair<std::string_view, int>::first, entry))->second;
      (entry.key == "min_version" ? settings.min_version : settings.max_version) = version;
    }
  }
  for (const char* needed : {"cert_file", "key_file"})
    if (!settings.files.contains(needed))
      return wrong(fmt::format("{}: lacks {}", section.place, needed));
  const bool has_ca = settings.files.contains("client_ca_file");
  if (settings.client_auth->is_verified && !has_ca)
    return wrong(fmt::format("{}: needs client_ca_file", settings.client_auth_place));
  if (!settings.client_auth->is_verified && has_ca)
    return wrong(
        fmt::format("{}: has no effect; client_auth_type: RequireAndVerifyClientCert asks "
                    "for certificates",
                    settings.files["client_ca_file"].second));
  if (settings.max_version != 0 && settings.max_version < settings.min_version)
    return wrong(fmt::format("{}: max_version is below min_version", section.place));
  return settings;
}

// A key that others can read is nobody's secret.
Status check_key_mode(const std::string& path, const std::string& place) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0)
    return wrong(fmt::format("{}: {}: {}", place, path, errno_words(errno)));
  if ((about.st_mode & (S_IRWXG | S_IRWXO)) == 0) return {};
  return wrong(fmt::format("{}: {}: its mode {:04o} lets others read it; chmod 0600", place, path,
                           about.st_mode & 07777));
}

// Else the library would ask for a passphrase at a terminal.
int give_no_passphrase(char*, int, int, void*) { return 0; }

int take_any_certificate(int, X509_STORE_CTX*) { return 1; }

Status load_files(SSL_CTX* context, const TlsSettings& settings) {
  const auto load = [&](const std::string& key, auto call) -> Status {
    const auto& [path, place] = settings.files.at(key);
    if (call(path) == 1) return {};
    return wrong(fmt::format("{}: {}: {}", place, path, openssl_words()));
  };
  RG_TRY_OK(load("cert_file", [&](const std::string& path) {
    return SSL_CTX_use_certificate_chain_file(context, path.c_str());
  }));
  const auto& [key_path, key_place] = settings.files.at("key_file");
  RG_TRY_OK(load("key_file", [&](const std::string& path) {
    return SSL_CTX_use_PrivateKey_file(context, path.c_str(), SSL_FILETYPE_PEM);
  }));
  if (SSL_CTX_check_private_key(context) != 1)
    return wrong(fmt::format("{}: {}: does not belong to the certificate", key_place, key_path));
  if (!settings.files.contains("client_ca_file")) return {};
  return load("client_ca_file", [&](const std::string& path) {
    const int loaded = SSL_CTX_load_verify_locations(context, path.c_str(), nullptr);
    if (loaded == 1) SSL_CTX_set_client_CA_list(context, SSL_load_client_CA_file(path.c_str()));
    return loaded;
  });
}

Result<SslContext> make_context(const TlsSettings& settings) {
  SslContext context(SSL_CTX_new(TLS_server_method()));
  RG_CHECK(context.get() != nullptr);  // no memory
  SSL_CTX* raw = context.get();
  SSL_CTX_set_min_proto_version(raw, settings.min_version);
  SSL_CTX_set_max_proto_version(raw, settings.max_version);
  // A resumed session would skip the look at the client's certificate.
  SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(raw, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                               SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_mode(raw, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                            SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_verify(raw, settings.client_auth->mode,
                     settings.client_auth->is_verified ? nullptr : take_any_certificate);
  SSL_CTX_set_default_passwd_cb(raw, give_no_passphrase);
  ERR_clear_error();
  RG_TRY_OK(load_files(raw, settings));
  return context;
}

// --- basic_auth_users --------------------------------------------------------------------------

Result<std::vector<User>> read_users(const Entry& section, const std::string& file) {
  std::vector<User> users;
  for (const Entry& entry : RG_TRY(entries_of(section.value, file, section.key, {}))) {
    if (entry.key.empty() || entry.key.find(':') != std::string::npos)
      return wrong(fmt::format("{}: a name has at least one character and no colon", entry.place));
    // Never quoted: it may be the password itself.
    const int cost = entry.value.IsScalar() ? bcrypt_cost(entry.value.Scalar()) : 0;
    if (cost == 0)
      return wrong(
          fmt::format("{}: a bcrypt hash is needed; htpasswd -nBC 10 NAME makes one", entry.place));
    if (cost < kLeastBcryptCost || cost > kMostBcryptCost)
      return wrong(fmt::format("{}: its cost {} is not {} to {}", entry.place, cost,
                               kLeastBcryptCost, kMostBcryptCost));
    users.push_back({entry.key, entry.value.Scalar()});
  }
  if (users.empty())
    return wrong(fmt::format("{}: names nobody, so nobody could read", section.place));
  if (users.size() > kMostUsers)
    return wrong(fmt::format("{}: more than {} users", section.place, kMostUsers));
  return users;
}

// Everything by which a change of a file shows.
std::string look_of(const std::vector<std::string>& files) {
  std::string looks;
  for (const std::string& file : files) {
    struct stat about {};
    if (::stat(file.c_str(), &about) != 0) about = {};
    looks += fmt::format("{}:{}:{}:{}.{}:{}.{};", about.st_dev, about.st_ino, about.st_size,
                         about.st_mtim.tv_sec, about.st_mtim.tv_nsec, about.st_ctim.tv_sec,
                         about.st_ctim.tv_nsec);
  }
  return looks;
}

Result<WebSettings> read_sections(const YAML::Node& root, const std::string& path) {
  WebSettings settings;
  if (root.IsNull())
    return wrong(fmt::format("{}: empty; without settings leave out --web-config-file", path));
  const auto sections = RG_TRY(
      entries_of(root, path, "", {"tls_server_config", "basic_auth_users", "http_server_config"}));
  for (const Entry& section : sections) {
    if (section.key == "tls_server_config")
      settings.tls = RG_TRY(read_tls(section, path));
    else if (section.key == "basic_auth_users")
      settings.users = RG_TRY(read_users(section, path));
    else  // HTTP/2 is never spoken, as a client sees by itself.
      RG_TRY_OK(entries_of(section.value, path, section.key, {"http2"}));
  }
  return settings;
}

}  // namespace

// yaml-cpp throws on faulty text.
Result<WebSettings> parse_web_config(const std::string& text, const std::string& path) {
  if (const auto at = first_outside_utf8(text))
    return wrong(fmt::format("{}: byte {} is not UTF-8", path, *at + 1));
  try {
    return read_sections(YAML::Load(text), path);
  } catch (const YAML::Exception& error) {
    return wrong(
        fmt::format("{}:{}: no YAML: {}", path, error.mark.line + 1, in_quotes(error.msg)));
  }
}

Result<std::shared_ptr<WebConfig>> read_web_config(const std::string& path) {
  const std::string text = RG_TRY(read_text(path));
  WebSettings settings = RG_TRY(parse_web_config(text, path));
  SslContext tls;
  std::vector<std::string> files{path};
  std::string private_key;
  if (settings.tls) {
    const auto& [key_path, key_place] = settings.tls->files.at("key_file");
    RG_TRY_OK(check_key_mode(key_path, key_place));
    for (const auto& [key, file] : settings.tls->files) files.push_back(file.first);
    private_key = settings.tls->files.at("key_file").first;
    tls = RG_TRY(make_context(*settings.tls));
  }
  return std::shared_ptr<WebConfig>(new WebConfig{std::move(tls),
                                                  BasicAuth(std::move(settings.users)),
                                                  std::move(files), std::move(private_key)});
}

// The caller checks the modes of the files: its rules for keys are those of its own settings.
Result<std::shared_ptr<WebConfig>> read_tls_files(const TlsFiles& files) {
  constexpr std::size_t kVerifiedIfGiven = 3;  // of kClientAuths
  TlsSettings settings{.client_auth = &kClientAuths[kVerifiedIfGiven]};
  settings.files = {{"cert_file", {files.certificate, "certificate"}},
                    {"key_file", {files.key, "key"}},
                    {"client_ca_file", {files.client_ca, "authority"}}};
  SslContext tls = RG_TRY(make_context(settings));
  return std::shared_ptr<WebConfig>(new WebConfig{std::move(tls),
                                                  BasicAuth(std::vector<User>()),
                                                  {files.certificate, files.key, files.client_ca},
                                                  files.key});
}

WebConfigFile::WebConfigFile(std::string name, Read read, std::shared_ptr<WebConfig> config)
    : name_(std::move(name)),
      read_(std::move(read)),
      config_(std::move(config)),
      looks_(look_of(config_->files)) {}

Result<std::unique_ptr<WebConfigFile>> WebConfigFile::open(std::string name, Read read) {
  auto config = RG_TRY(read());
  return std::unique_ptr<WebConfigFile>(
      new WebConfigFile(std::move(name), std::move(read), std::move(config)));
}

Result<std::unique_ptr<WebConfigFile>> WebConfigFile::open(const std::string& path) {
  return open(path, [path] { return read_web_config(path); });
}

Result<std::unique_ptr<WebConfigFile>> WebConfigFile::open(const TlsFiles& files) {
  return open(files.certificate, [files] { return read_tls_files(files); });
}

std::shared_ptr<WebConfig> WebConfigFile::current() {
  constexpr double kLookNs = 1e9;
  const std::lock_guard lock(mutex_);
  const double now_ns = monotonic_now_ns();
  if (now_ns < next_look_ns_) return config_;
  next_look_ns_ = now_ns + kLookNs;
  std::string looks = look_of(config_->files);
  if (looks == looks_ || std::exchange(changed_, looks) != looks) return config_;
  auto read = read_();
  if (read) {
    config_ = std::move(*read);
    looks_ = look_of(config_->files);
    spdlog::info("{}: read again", name_);
  } else {
    looks_ = std::move(looks);
    spdlog::error("{}; the settings before this change stay", read.error().message);
  }
  return config_;
}

}  // namespace railgauge::http
