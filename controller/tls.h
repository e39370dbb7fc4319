// The controller's side of mutual TLS: certificate, key, authorities and revocation lists, read
// again when the files change and on SIGHUP. Connections that are open stay; each new handshake
// takes what was read last. Files that are broken or half written change nothing.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "controller/metric/registry.h"
#include "controller/trust/pem_files.h"
#include "controller/trust/revocation.h"
#include "controller/trust/tls_channel.h"
#include "kernels/core/base/result.h"

namespace railgauge {

// Thread safe. Reads files on a thread of its own, never on a caller's.
class TlsKeeper {
 public:
  static constexpr double kLookSeconds = 1;  // between two looks at the files

  struct Files {
    trust::PemFiles pem{};
    std::string crl{};  // "": nothing is ever revoked
  };
  // Stores an event, with its kind. Called on the keeper's thread.
  using Note = std::function<void(std::string kind, std::string text)>;

  // Reads all files once. kInvalidArgument, kPermissionDenied: one cannot be used. An expired list
  // is used, with an event: what it revokes stays revoked. `series` outlives the keeper.
  static Result<std::unique_ptr<TlsKeeper>> open(Files files, metric::Registry& series, Note note);
  ~TlsKeeper();
  TlsKeeper(const TlsKeeper&) = delete;
  TlsKeeper& operator=(const TlsKeeper&) = delete;

  // The server's side of the next handshake.
  [[nodiscard]] std::shared_ptr<const trust::TlsServer> server() const;
  // Reads the files at the next moment, whether they look changed or not.
  void reload();
  [[nodiscard]] bool is_revoked(const trust::CertificateId& id) const;
  // A line for each file that cannot be used now and for a list that has ended, while the old one
  // stays in use; "" without one. The log has a line for each once.
  [[nodiscard]] std::string trouble() const;
  // Whether the authority of this port signed the certificate, in PEM.
  [[nodiscard]] bool vouches_for(const std::string& certificate) const;

 private:
  TlsKeeper(Files files, metric::Registry& series, Note note);
  void watch();
  void look(bool asked);
  void read_pair(bool asked);
  void read_crl(bool asked);
  void watch_expiry();
  void failed(std::string_view what, std::string& last, const Error& error);
  void show();
  Status take(trust::Material material);
  [[nodiscard]] std::shared_ptr<const trust::Material> material() const;
  [[nodiscard]] std::shared_ptr<const trust::RevocationList> list() const;

  const Files files_;
  metric::Registry& series_;
  const Note note_;

  // Used on the keeper's thread only, and before it starts.
  std::string pair_stamp_;
  std::string crl_stamp_;
  std::string pair_fault_;  // the last one that was reported; "": none
  std::string crl_fault_;
  bool is_crl_expired_ = false;

  mutable std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::shared_ptr<const trust::Material> material_;
  std::shared_ptr<const trust::TlsServer> server_;  // of material_
  std::shared_ptr<const trust::RevocationList> list_;
  std::string trouble_;
  bool stopping_ = false;
  bool asked_ = false;
  std::thread thread_;  // last: uses all above
};

}  // namespace railgauge
