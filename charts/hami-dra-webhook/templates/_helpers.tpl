{{- define "hami-dra-webhook.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* Name of all namespaced objects. Cut so that the longest suffix still fits. */}}
{{- define "hami-dra-webhook.fullname" -}}
{{- $name := include "hami-dra-webhook.name" . -}}
{{- $joined := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- default $joined .Values.fullnameOverride | trunc 45 | trimSuffix "-" -}}
{{- end -}}

{{/* Name of cluster-wide objects: releases of one name in two namespaces must not share them. */}}
{{- define "hami-dra-webhook.clusterName" -}}
{{- printf "%s:%s" .Release.Namespace (include "hami-dra-webhook.fullname" .) -}}
{{- end -}}

{{/* One per cluster, so it has a fixed name. It sorts last: webhooks that inject containers or keys run before. */}}
{{- define "hami-dra-webhook.webhookConfiguration" -}}
zz-hami-dra-webhook
{{- end -}}

{{/* What marks the objects of this release. */}}
{{- define "hami-dra-webhook.release" -}}
app.kubernetes.io/name: {{ include "hami-dra-webhook.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{/* What marks a replica; the pods of hooks lack the last one. */}}
{{- define "hami-dra-webhook.selector" -}}
{{ include "hami-dra-webhook.release" . }}
app.kubernetes.io/component: webhook
{{- end -}}

{{- define "hami-dra-webhook.labels" -}}
{{ include "hami-dra-webhook.release" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "hami-dra-webhook.podLabels" -}}
{{ include "hami-dra-webhook.labels" . }}
app.kubernetes.io/component: webhook
{{- end -}}

{{- define "hami-dra-webhook.serviceAccount" -}}
{{- default (include "hami-dra-webhook.fullname" .) .Values.serviceAccount.name -}}
{{- end -}}

{{- define "hami-dra-webhook.image" -}}
{{- $tag := default .Chart.AppVersion .Values.image.tag -}}
{{- .Values.image.repository }}:{{ $tag }}{{ with .Values.image.digest }}@{{ . }}{{ end -}}
{{- end -}}

{{- define "hami-dra-webhook.caSecret" -}}
{{- include "hami-dra-webhook.fullname" . }}-ca
{{- end -}}

{{/* The TLS Secret that is mounted; none where the replicas make their own certificates. */}}
{{- define "hami-dra-webhook.tlsSecret" -}}
{{- if eq .Values.certificates.mode "cert-manager" -}}
{{- include "hami-dra-webhook.fullname" . }}-tls
{{- else if eq .Values.certificates.mode "provided" -}}
{{- .Values.certificates.provided.secretName -}}
{{- end -}}
{{- end -}}

{{/* A Kubernetes quantity as a plain number. */}}
{{- define "hami-dra-webhook.quantity" -}}
{{- $text := toString . -}}
{{- $number := regexFind "^[+]?[0-9.]+([eE][-+]?[0-9]+)?" $text -}}
{{- $units := dict "" 1 "n" 1e-9 "u" 1e-6 "m" 1e-3 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "E" 1e18 "Ki" 0x1p10 "Mi" 0x1p20 "Gi" 0x1p30 "Ti" 0x1p40 "Pi" 0x1p50 "Ei" 0x1p60 -}}
{{- mulf (float64 $number) (index $units (trimPrefix $number $text)) -}}
{{- end -}}

{{/* A duration as Go writes it (1h30m) in seconds. */}}
{{- define "hami-dra-webhook.seconds" -}}
{{- $seconds := 0 -}}
{{- range regexFindAll "[0-9]+[hms]" . -1 -}}
{{- $seconds = add $seconds (mul (regexFind "[0-9]+" . | atoi) (index (dict "h" 3600 "m" 60 "s" 1) (regexFind "[hms]" .))) -}}
{{- end -}}
{{- $seconds -}}
{{- end -}}

{{/* When a certificate should have been renewed long ago: it is when a third of its life is left. At most a day before it expires. */}}
{{- define "hami-dra-webhook.expiresSoonSeconds" -}}
{{- $seconds := 86400 -}}
{{- if eq .Values.certificates.mode "self-signed" -}}
{{- $tls := default dict .Values.settings.server.tls -}}
{{- $seconds = div (mul (get $tls "leafHours" | default 168) 3600) 6 -}}
{{- else if eq .Values.certificates.mode "cert-manager" -}}
{{- $seconds = div (include "hami-dra-webhook.seconds" .Values.certificates.certManager.duration) 6 -}}
{{- end -}}
{{- min $seconds 86400 -}}
{{- end -}}

{{- define "hami-dra-webhook.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
# Lets the replica read its token and the mounted Secret.
fsGroup: 65532
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "hami-dra-webhook.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{/* What `automountServiceAccountToken` would mount: a token that expires and is bound to the pod. */}}
{{- define "hami-dra-webhook.tokenVolume" -}}
name: service-account
projected:
  defaultMode: 0440
  sources:
    - serviceAccountToken: {path: token, expirationSeconds: 3607}
    - configMap:
        name: kube-root-ca.crt
        items: [{key: ca.crt, path: ca.crt}]
    - downwardAPI:
        items:
          - path: namespace
            fieldRef: {apiVersion: v1, fieldPath: metadata.namespace}
{{- end -}}

{{- define "hami-dra-webhook.tokenMount" -}}
{name: service-account, mountPath: /var/run/secrets/kubernetes.io/serviceaccount, readOnly: true}
{{- end -}}

{{/* The pod of a hook: our image, and a program of files/hook.py. Call it with (dict "root" $ "account" … "arguments" …). */}}
{{- define "hami-dra-webhook.hookPod" -}}
serviceAccountName: {{ .account }}
automountServiceAccountToken: false
restartPolicy: Never
securityContext:
  {{- include "hami-dra-webhook.podSecurity" .root | nindent 2 }}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
containers:
  - name: hook
    image: {{ include "hami-dra-webhook.image" .root | quote }}
    imagePullPolicy: {{ .root.Values.image.pullPolicy }}
    command: [python3, -c]
    args:
      - |
        {{- .root.Files.Get "files/hook.py" | nindent 8 }}
      {{- range .arguments }}
      - {{ . | quote }}
      {{- end }}
    resources:
      requests: {cpu: 50m, memory: 32Mi}
      limits: {memory: 128Mi}
    securityContext:
      {{- include "hami-dra-webhook.containerSecurity" .root | nindent 6 }}
    volumeMounts:
      - {{ include "hami-dra-webhook.tokenMount" .root }}
volumes:
  - {{ include "hami-dra-webhook.tokenVolume" .root | nindent 4 | trim }}
{{- end -}}
