{{- define "sluicegate.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "sluicegate.fullname" -}}
{{- $name := include "sluicegate.name" . -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "sluicegate.selector" -}}
app.kubernetes.io/name: {{ include "sluicegate.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "sluicegate.labels" -}}
{{ include "sluicegate.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "sluicegate.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "sluicegate.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "sluicegate.image" -}}
{{- $own := default dict .own -}}
{{- $image := .root.Values.image -}}
{{- printf "%s:%s" (default $image.repository $own.repository) (default (default .root.Chart.AppVersion $image.tag) $own.tag) -}}
{{- /* Another image has another digest, or none. */ -}}
{{- with ternary $own.digest $image.digest (not (empty $own)) }}@{{ . }}{{ end -}}
{{- end -}}

{{/* gateway.yaml, with the addresses that the Services of this chart use. */}}
{{- define "sluicegate.config" -}}
{{- $config := deepCopy .Values.config -}}
{{- $server := merge (dict "host" "0.0.0.0" "port" 8080) (default dict $config.server) -}}
{{- $_ := set $config "server" $server -}}
{{- if or .Values.delegation.enabled .Values.worker.enabled -}}
{{- $delegation := merge (dict "host" "0.0.0.0" "port" (int .Values.delegation.port)) (default dict $config.delegation) -}}
{{- $_ := set $config "delegation" $delegation -}}
{{- end -}}
{{- if .Values.metrics.enabled }}
{{- $telemetry := default dict $config.telemetry -}}
{{- $listener := dict "host" "0.0.0.0" "port" (int .Values.metrics.port) -}}
{{- $_ := set $config "telemetry" (merge (dict "prometheus" $listener) $telemetry) -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}

{{/* The port on which Prometheus reads the metrics of a container. */}}
{{- define "sluicegate.metricsPort" -}}
{{- if .Values.metrics.enabled }}
- {name: metrics, containerPort: {{ .Values.metrics.port }}}
{{- end }}
{{- end -}}

{{/* What all pods have in common. The hook of the migration has a ConfigMap that exists before the release. */}}
{{- define "sluicegate.pod" -}}
serviceAccountName: {{ if .hook }}default{{ else }}{{ include "sluicegate.serviceAccount" .root }}{{ end }}
automountServiceAccountToken: {{ if .hook }}false{{ else }}{{ .root.Values.serviceAccount.automountToken }}{{ end }}
enableServiceLinks: false
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001 # reads the secrets
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
volumes:
  - name: config
    configMap:
      name: {{ .config }}
  {{- range .root.Values.secrets }}
  - name: secret-{{ . }}
    secret:
      secretName: {{ . }}
      defaultMode: 0440 # the gateway rejects secrets that every user can read
  {{- end }}
  - name: state
    emptyDir: {}
  - name: tmp
    emptyDir: {}
{{- end -}}

{{- define "sluicegate.container" -}}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- with .Values.env }}
env:
  {{- toYaml . | nindent 2 }}
{{- end }}
volumeMounts:
  - {name: config, mountPath: /etc/sluicegate/gateway.yaml, subPath: gateway.yaml, readOnly: true}
  {{- range .Values.secrets }}
  - {name: secret-{{ . }}, mountPath: /etc/sluicegate/secrets/{{ . }}, readOnly: true}
  {{- end }}
  - {name: state, mountPath: /var/lib/sluicegate}
  - {name: tmp, mountPath: /tmp}
{{- end -}}
