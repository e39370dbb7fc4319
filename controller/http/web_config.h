// The settings of TLS and basic authentication of an HTTP port: the file that exporters of
// Prometheus know as --web.config.file.
#pragma once

#include <openssl/ssl.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controller/http/basic_auth.h"
#include "kernels/core/base/handle.h"
#include "kernels/core/base/result.h"

namespace railgauge::http {

struct TlsFiles;

using SslContext = Handle<ReleasedBy<SSL_CTX*, SSL_CTX_free>>;

// Demands on the client's certificate.
struct ClientAuth {
  std::string_view name;  // as in the file
  int mode;               // of SSL_CTX_set_verify()
  bool is_verified;       // against client_ca_file
};

// tls_server_config. The files that it names are not read yet.
struct TlsSettings {
  std::map<std::string, std::pair<std::string, std::string>> files{};  // by key: path, place
  const ClientAuth* client_auth = nullptr;
  std::string client_auth_place{};
  int min_version = TLS1_2_VERSION;
  int max_version = 0;  // 0: the newest
};

// The text of the file.
struct WebSettings {
  std::optional<TlsSettings> tls;  // absent: plain HTTP
  std::vector<User> users;
};

// Parses the text of the file `path`. Pure. kInvalidArgument: as read_web_config(), but for the
// files that it names.
Result<WebSettings> parse_web_config(const std::string& text, const std::string& path);

// One reading of the file.
struct WebConfig {
  SslContext tls;  // empty: plain HTTP
  BasicAuth auth{std::vector<User>()};
  std::vector<std::string> files;  // all that were read
  std::string key{};               // of `files`, the private key; "" without TLS
};

// kInvalidArgument, "FILE:LINE: KEY: cause": a key that is unknown, a value that cannot be used, a
// certificate and key that do not fit, a key that others may read. Relative paths begin at the
// file's folder.
Result<std::shared_ptr<WebConfig>> read_web_config(const std::string& path);
// The same of files that no settings file names: TLS 1.2 or later, no passwords; a client's
// certificate is checked if it has one.
Result<std::shared_ptr<WebConfig>> read_tls_files(const TlsFiles& files);

// The file, read again when it or a file that it names has changed. Thread safe.
class WebConfigFile {
 public:
  // kInvalidArgument: as read_web_config().
  static Result<std::unique_ptr<WebConfigFile>> open(const std::string& path);
  static Result<std::unique_ptr<WebConfigFile>> open(const TlsFiles& files);
  // The present settings. Looks at the files at most once a second and reads them when they were
  // the same twice, so that no half-written file counts. A faulty change is logged once and the
  // settings before it stay.
  std::shared_ptr<WebConfig> current();

 private:
  using Read = std::function<Result<std::shared_ptr<WebConfig>>()>;
  static Result<std::unique_ptr<WebConfigFile>> open(std::string name, Read read);
  WebConfigFile(std::string name, Read read, std::shared_ptr<WebConfig> config);
  const std::string name_;  // for the log
  const Read read_;
  std::mutex mutex_;  // guards all below
  std::shared_ptr<WebConfig> config_;
  std::string looks_;    // of the files, when they were read
  std::string changed_;  // of the files at the last look, if they had changed
  double next_look_ns_ = 0;
};

}  // namespace railgauge::http
