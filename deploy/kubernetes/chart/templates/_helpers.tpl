{{- define "railgauge.labels" -}}
app.kubernetes.io/name: railgauge
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}
{{- define "railgauge.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ . }}
{{- end }}
{{- end }}
{{- end }}
{{- /* The controllers, as agents name them: one service, or each pod of a pair. */ -}}
{{- define "railgauge.controllers" -}}
{{- $namespace := .Release.Namespace }}
{{- if .Values.controller.standby.enabled -}}
railgauge-controller-0.railgauge-controllers.{{ $namespace }}.svc:7443,railgauge-controller-1.railgauge-controllers.{{ $namespace }}.svc:7443
{{- else -}}
railgauge-controller.{{ $namespace }}.svc:7443
{{- end }}
{{- end }}
{{- define "railgauge.container" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}
