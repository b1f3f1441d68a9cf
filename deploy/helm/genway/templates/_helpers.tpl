{{- define "genway.name" -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "genway.tag" -}}
{{- .Values.image.tag | default .Chart.AppVersion -}}
{{- end -}}

{{- define "genway.secret" -}}
{{- .Values.existingSecret | default (include "genway.name" .) -}}
{{- end -}}

{{- define "genway.selector" -}}
app.kubernetes.io/name: genway
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "genway.labels" -}}
{{ include "genway.selector" . }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end -}}

{{/* The labels of a pod. Arguments: root, component. */}}
{{- define "genway.podLabels" -}}
{{ merge (include "genway.labels" . | fromYaml) .root.Values.podLabels | toYaml }}
{{- end -}}

{{/* What a release cannot do without. */}}
{{- define "genway.check" -}}
{{- $config := .Values.config -}}
{{- range list "GENWAY_PUBLIC_URL" "TEMPORAL_ADDRESS" -}}
{{- if not (get $config .) }}{{ fail (printf "Set config.%s: docs/configuration.md" .) }}{{ end -}}
{{- end -}}
{{- if not .Values.existingSecret -}}
{{- range list "DATABASE_URL" "GENWAY_ADMIN_TOKEN" "GENWAY_KEY_PEPPER" "GENWAY_ENCRYPTION_KEY" -}}
{{- if not (get $.Values.secrets .) }}{{ fail (printf "Set existingSecret to a Secret with %s, or secrets.%s" . .) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- if not (or (get $config "GENWAY_S3_BUCKET") .Values.filesClaim) -}}
{{ fail "Set config.GENWAY_S3_BUCKET, or filesClaim to a claim that pods of many nodes can write" }}
{{- end -}}
{{- if and .Values.networkPolicy.enabled (not .Values.networkPolicy.egress) -}}
{{ fail "Set networkPolicy.egress to where PostgreSQL and Temporal are, or networkPolicy.enabled to false" }}
{{- end -}}
{{- end -}}

{{/* The parts of a pod that every process has. Arguments: root, component, tag. */}}
{{- define "genway.podSpec" -}}
serviceAccountName: {{ include "genway.name" .root }}
automountServiceAccountToken: false
# Kubernetes would set GENWAY_API_PORT to the address of a service `genway-api`.
enableServiceLinks: false
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  # The user `node` of the image.
  runAsUser: 1000
  runAsGroup: 1000
  fsGroup: 1000
  # Otherwise each start of a pod changes the owner of every file of `filesClaim` first.
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: { type: RuntimeDefault }
{{- with .root.Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- $arguments := . }}
{{- with .root.Values.spreadOver }}
topologySpreadConstraints:
  {{- range . }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{ include "genway.selector" $arguments | nindent 8 }}
  {{- end }}
{{- end }}
{{- with .root.Values.affinity }}
affinity: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
volumes:
  - name: tmp
    emptyDir: {}
  {{- with .root.Values.filesSecret }}
  - name: operator-files
    secret: { secretName: {{ . }} }
  {{- end }}
  {{- with .root.Values.filesClaim }}
  - name: files
    persistentVolumeClaim: { claimName: {{ . }} }
  {{- end }}
{{- end -}}

{{/* The parts of a container that every process has. Arguments: root, tag, program. */}}
{{- define "genway.container" -}}
image: {{ printf "%s:%s" .root.Values.image.repository .tag | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
command: [node, dist/bin/{{ .program }}.js]
envFrom:
  - configMapRef: { name: {{ include "genway.name" .root }} }
  - secretRef: { name: {{ include "genway.secret" .root }} }
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
volumeMounts:
  - { name: tmp, mountPath: /tmp }
  {{- if .root.Values.filesSecret }}
  - { name: operator-files, mountPath: /etc/genway, readOnly: true }
  {{- end }}
  {{- if .root.Values.filesClaim }}
  - { name: files, mountPath: /var/lib/genway/files }
  {{- end }}
{{- end -}}

{{/* A deployment. Arguments: root, component, name, program, port, tag, values, graceSeconds, env. */}}
{{- define "genway.deployment" -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .name }}
  labels: {{ include "genway.labels" . | nindent 4 }}
spec:
  {{- if not .values.autoscaling.enabled }}
  replicas: {{ .values.replicas }}
  {{- end }}
  selector:
    matchLabels: {{ include "genway.selector" . | nindent 6 }}
  strategy:
    rollingUpdate: { maxUnavailable: 0, maxSurge: 1 }
  template:
    metadata:
      labels: {{ include "genway.podLabels" . | nindent 8 }}
      annotations:
        # New pods for new settings.
        genway/settings: {{ toJson (list .root.Values.config .root.Values.secrets) | sha256sum }}
        {{- with .root.Values.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      # Longer than the process gives itself.
      terminationGracePeriodSeconds: {{ .graceSeconds }}
      {{- include "genway.podSpec" . | nindent 6 }}
      containers:
        - name: {{ .program }}
          {{- include "genway.container" . | nindent 10 }}
          {{- with .env }}
          env: {{ toYaml . | nindent 12 }}
          {{- end }}
          ports:
            - { name: http, containerPort: {{ .port }} }
          startupProbe:
            httpGet: { path: /healthz, port: http }
            periodSeconds: 2
            failureThreshold: 60
          livenessProbe:
            httpGet: { path: /healthz, port: http }
            periodSeconds: 15
            timeoutSeconds: 10
            failureThreshold: 4
          readinessProbe:
            httpGet: { path: /readyz, port: http }
            periodSeconds: 5
            timeoutSeconds: 5
          resources: {{ toYaml .values.resources | nindent 12 }}
{{- end -}}

{{/* The arguments of each process, by name: see genway.deployment. */}}
{{- define "genway.processes" -}}
api: { port: 8080, graceSeconds: 165 }
text: { port: 8081, graceSeconds: 165 }
worker: { port: 8082, graceSeconds: 325 }
{{- end -}}

{{/* The name of the job that migrates. A job never changes, and Argo CD renders every release as revision 1: a job with another pod has another name. */}}
{{- define "genway.migrateJob" -}}
{{- $arguments := dict "root" . "component" "migrate" "program" "migrate" "tag" (include "genway.tag" .) -}}
{{- $pod := list (include "genway.podLabels" $arguments) (include "genway.podSpec" $arguments) (include "genway.container" $arguments) -}}
{{- printf "%s-migrate-%d-%s" (include "genway.name" .) .Release.Revision ($pod | toJson | sha256sum | trunc 8) -}}
{{- end -}}
